package android.content.res;

import java.io.Closeable;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Path;

/** Stands in for Android's class of this name. */
public class AssetFileDescriptor implements Closeable {
    private final FileInputStream stream;
    private final long startOffset;
    private final long length;

    AssetFileDescriptor(Path file, long startOffset, long length) throws IOException {
        this.stream = new FileInputStream(file.toFile());
        this.startOffset = startOffset;
        this.length = length;
    }

    public FileDescriptor getFileDescriptor() {
        try {
            return stream.getFD();
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    public long getStartOffset() {
        return startOffset;
    }

    public long getDeclaredLength() {
        return length;
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }
}
