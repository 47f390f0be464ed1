import io.kroxylicious.proxy.KafkaProxy;
import io.kroxylicious.proxy.config.ConfigParser;
import io.kroxylicious.proxy.config.ServiceBasedPluginFactoryRegistry;
import io.kroxylicious.proxy.internal.config.Features;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs Kroxylicious with the YAML file that its one argument names. */
public class KroxyliciousMain {
    public static void main(String[] args) throws Exception {
        var config = new ConfigParser().parseConfiguration(Files.readString(Path.of(args[0])));
        var plugins = new ServiceBasedPluginFactoryRegistry();
        try (var proxy = new KafkaProxy(plugins, config, Features.defaultFeatures())) {
            proxy.startup().block();
        }
    }
}
