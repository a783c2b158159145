import android.content.Context;
import android.content.res.AssetManager;
import java.io.InputStream;
import java.nio.file.Path;

/** Classify FOLDER MODEL: the classes of the images on stdin, by the class that docs/howto/android.md shows. */
final class Classify {
    public static void main(String[] arguments) throws Exception {
        AssetManager assets = new AssetManager(Path.of(arguments[0]));
        Context context = new Context() {
            @Override
            public AssetManager getAssets() {
                return assets;
            }
        };
        try (Digits digits = new Digits(context, arguments[1])) {
            InputStream images = System.in;
            for (byte[] pixels = images.readNBytes(784); pixels.length == 784; pixels = images.readNBytes(784)) {
                System.out.println(digits.classify(pixels));
            }
        }
    }
}
