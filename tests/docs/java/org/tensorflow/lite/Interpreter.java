package org.tensorflow.lite;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Stands in for LiteRT's class of this name: one input of codes in a ByteBuffer, one output of [1, n] codes.
 * `octet run` computes; the property "octet" says where it is.
 */
public final class Interpreter implements AutoCloseable {
    public static class Options {
        private boolean useXNNPACK = true;

        public Options setUseXNNPACK(boolean useXNNPACK) {
            this.useXNNPACK = useXNNPACK;
            return this;
        }
    }

    private final String rounding;
    private final Path folder;

    public Interpreter(ByteBuffer model, Options options) {
        if (!model.isDirect()) {
            throw new IllegalArgumentException("expected a model in a MappedByteBuffer or a direct ByteBuffer");
        }
        rounding = options.useXNNPACK ? "fp32" : "single";
        try {
            folder = Files.createTempDirectory(Path.of("."), "interpreter");
            write("model.tflite", model);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    public void run(Object input, Object output) {
        byte[][] results = (byte[][]) output;
        try {
            write("in", (ByteBuffer) input);
            Process octet = new ProcessBuilder(System.getProperty("octet"), "run", path("model.tflite"),
                    "--rounding", rounding, "--input", path("in"), "--out", path("out")).inheritIO().start();
            if (octet.waitFor() != 0) throw new IllegalArgumentException("octet run failed, see above");
            byte[] found = Files.readAllBytes(folder.resolve("out"));
            if (results.length != 1 || results[0].length != found.length) {
                throw new IllegalArgumentException("expected an output of [1, " + found.length + "] bytes");
            }
            System.arraycopy(found, 0, results[0], 0, found.length);
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void close() {}

    private String path(String name) {
        return folder.resolve(name).toString();
    }

    private void write(String name, ByteBuffer buffer) throws IOException {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        Files.write(folder.resolve(name), bytes);
    }
}
