import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.streams.StreamsTopology;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredTopology;
import org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager;
import org.slf4j.helpers.NOPLogger;

/**
 * Says which internal topics Kafka's coordinator would create, and with how many partitions.
 *
 * <p>Reads lines: the body of a StreamsGroupHeartbeat request of version 0 in Base64, and the topics
 * that exist (NAME=PARTITIONS), separated by spaces. Answers each with a line: NAME=PARTITIONS of
 * what it would create, sorted by name, or "!" and why it would create nothing.
 */
public final class TopologyOracle {
    public static void main(String[] args) throws Exception {
        BufferedReader lines =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder answers = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.append(answer(line)).append('\n');
        }
        System.out.print(answers);
        System.out.flush();
        System.exit(0);
    }

    private static String answer(String line) {
        String[] words = line.split(" ");
        ByteBuffer body = ByteBuffer.wrap(Base64.getDecoder().decode(words[0]));
        Map<String, Integer> existing = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            String[] parts = words[i].split("=");
            existing.put(parts[0], Integer.parseInt(parts[1]));
        }
        try {
            StreamsGroupHeartbeatRequestData request =
                new StreamsGroupHeartbeatRequestData(new ByteBufferAccessor(body), (short) 0);
            ConfiguredTopology configured =
                InternalTopicManager.configureTopics(
                    NOPLogger.NOP_LOGGER, "g", "m", 0L,
                    StreamsTopology.fromHeartbeatRequest(request.topology()),
                    image(existing), Time.SYSTEM);
            if (configured.subtopologies().isEmpty()) {
                return "! " + configured.topicConfigurationException().get().getMessage();
            }
            Map<String, Integer> made = new TreeMap<>();
            for (CreatableTopic topic : configured.internalTopicsToBeCreated().values()) {
                made.put(topic.name(), topic.numPartitions());
            }
            StringBuilder text = new StringBuilder();
            made.forEach((name, count) -> text.append(name).append('=').append(count).append(' '));
            return text.toString().trim();
        } catch (RuntimeException error) {
            return "! " + error.getClass().getSimpleName() + ": " + error.getMessage();
        }
    }

    /** The topics of a cluster, of which nothing but the number of partitions is asked. */
    private static CoordinatorMetadataImage image(Map<String, Integer> existing) {
        return (CoordinatorMetadataImage) Proxy.newProxyInstance(
            TopologyOracle.class.getClassLoader(),
            new Class<?>[] {CoordinatorMetadataImage.class},
            (self, method, arguments) -> {
                if (!method.getName().equals("topicMetadata")) {
                    throw new UnsupportedOperationException(method.getName());
                }
                Integer count = existing.get((String) arguments[0]);
                return count == null ? Optional.empty() : Optional.of(topic(count));
            });
    }

    private static CoordinatorMetadataImage.TopicMetadata topic(int count) {
        return (CoordinatorMetadataImage.TopicMetadata) Proxy.newProxyInstance(
            TopologyOracle.class.getClassLoader(),
            new Class<?>[] {CoordinatorMetadataImage.TopicMetadata.class},
            (self, method, arguments) -> {
                if (!method.getName().equals("partitionCount")) {
                    throw new UnsupportedOperationException(method.getName());
                }
                return count;
            });
    }

    private TopologyOracle() {}
}
