import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** Makes the loaders of an enterprise application, packed or exploded, as servers do: that of a web application sees the application's libraries. */
public class Ear {
    public static void main(String[] args) throws Exception {
        Path ear = unpacked(new File(args[0]), Path.of(args[1], "ear"));
        URLClassLoader libraries = new URLClassLoader(jars(ear.resolve("lib")), Ear.class.getClassLoader());
        Path web = unpacked(ear.resolve("web.war").toFile(), Path.of(args[1], "web"));
        List<URL> path = new ArrayList<>(List.of(web.resolve("WEB-INF/classes").toUri().toURL()));
        Collections.addAll(path, jars(web.resolve("WEB-INF/lib")));
        URLClassLoader loader = new URLClassLoader(path.toArray(new URL[0]), libraries);
        loader.loadClass("shop.Main").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    }

    static URL[] jars(Path folder) throws MalformedURLException {
        File[] files = folder.toFile().listFiles();
        List<URL> urls = new ArrayList<>();
        for (File file : files == null ? new File[0] : files)
            urls.add(file.toURI().toURL());
        return urls.toArray(new URL[0]);
    }

    static Path unpacked(File archive, Path target) throws IOException {
        if (archive.isDirectory())
            return archive.toPath();
        try (ZipFile zip = new ZipFile(archive)) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                Path file = target.resolve(entry.getName());
                Files.createDirectories(entry.isDirectory() ? file : file.getParent());
                if (!entry.isDirectory())
                    try (InputStream in = zip.getInputStream(entry)) {
                        Files.copy(in, file);
                    }
            }
        }
        return target;
    }
}
