import io.quarkus.bootstrap.runner.SerializedApplication;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Writes the index of a Quarkus application's folder, as its build does. */
public class Index {
    public static void main(String[] args) throws Exception {
        Path root = Path.of(args[0]);
        List<Path> boot = new ArrayList<>();
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(root.resolve("lib/boot"))) {
            jars.forEach(boot::add);
        }
        List<Path> all = new ArrayList<>(boot);
        all.add(root.resolve("app/app.jar"));
        all.add(root.resolve("lib/main/stock.jar"));
        try (OutputStream out = Files.newOutputStream(root.resolve("quarkus/quarkus-application.dat"))) {
            SerializedApplication.write(out, "shop.Main", root, all, boot);
        }
    }
}
