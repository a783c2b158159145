package android.content.res;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Stands in for Android's class of this name. Assets lie within the file of the app, as they do there. */
public final class AssetManager {
    private static final int BYTES_AROUND = 123;
    private final Path folder;

    public AssetManager(Path folder) {
        this.folder = folder;
    }

    public AssetFileDescriptor openFd(String name) throws IOException {
        byte[] asset = Files.readAllBytes(folder.resolve(name));
        ByteArrayOutputStream app = new ByteArrayOutputStream();
        app.write(new byte[BYTES_AROUND]);
        app.write(asset);
        app.write(new byte[BYTES_AROUND]);
        Path file = folder.resolve("app");
        Files.write(file, app.toByteArray());
        return new AssetFileDescriptor(file, BYTES_AROUND, asset.length);
    }
}
