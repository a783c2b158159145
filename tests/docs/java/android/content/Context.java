package android.content;

import android.content.res.AssetManager;

/** Stands in for Android's class of this name. */
public abstract class Context {
    public abstract AssetManager getAssets();
}
