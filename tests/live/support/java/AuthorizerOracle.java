import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.AclCreateResult;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.authorizer.AuthorizerServerInfo;

/**
 * Kafka's StandardAuthorizer, asked in this process: one JSON object a line in, one out.
 *
 * <p>In: "configs" for configure(), "acls" as [type, pattern type, name, principal, host, operation,
 * permission], all enums as their codes on the wire; "asked" as [principal, host, operation, type,
 * name], "any" as [principal, host, operation, type], "filters" as ACLs with null for any text. Out:
 * "asked" and "any" as a string of 0 (denied) and 1 (allowed), "filters" as lists of the numbers of
 * the ACLs meant; "default" as "any", by the default of Kafka's interface. Ends with its input.
 */
public final class AuthorizerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Metrics METRICS = new Metrics();

    private AuthorizerOracle() {}

    public static void main(String[] args) throws IOException {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            out.flush();
        }
    }

    private static ObjectNode answer(JsonNode asked) throws IOException {
        Map<AclBinding, Integer> numbers = new HashMap<>();
        // It counts each decision, and does not work without somewhere to count.
        try (PluginMetricsImpl metrics = new PluginMetricsImpl(METRICS, Map.of());
                StandardAuthorizer authorizer = authorizer(asked, numbers)) {
            authorizer.withPluginMetrics(metrics);
            ObjectNode answer = JSON.createObjectNode();
            StringBuilder verdicts = new StringBuilder();
            for (JsonNode question : asked.get("asked")) {
                verdicts.append(isAllowed(authorizer, question) ? '1' : '0');
            }
            answer.put("asked", verdicts.toString());
            verdicts.setLength(0);
            for (JsonNode question : asked.get("any")) {
                verdicts.append(isAnyAllowed(authorizer, question) ? '1' : '0');
            }
            answer.put("any", verdicts.toString());
            verdicts.setLength(0);
            for (JsonNode question : asked.get("any")) {
                verdicts.append(isAnyAllowed(new Plain(authorizer), question) ? '1' : '0');
            }
            answer.put("default", verdicts.toString());
            ArrayNode meant = answer.putArray("filters");
            for (JsonNode filter : asked.get("filters")) {
                ArrayNode found = meant.addArray();
                authorizer.acls(filter(filter)).forEach(acl -> found.add(numbers.get(acl)));
            }
            return answer;
        }
    }

    private static StandardAuthorizer authorizer(JsonNode asked, Map<AclBinding, Integer> numbers) {
        Map<String, Object> configs = new HashMap<>();
        asked.get("configs").fields().forEachRemaining(e -> configs.put(e.getKey(), e.getValue().asText()));
        Map<Uuid, StandardAcl> acls = new LinkedHashMap<>();
        for (JsonNode fields : asked.get("acls")) {
            AclBinding acl = binding(fields);
            numbers.put(acl, numbers.size());
            acls.put(Uuid.randomUuid(), StandardAcl.fromAclBinding(acl));
        }
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(configs);
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        return authorizer;
    }

    private static boolean isAllowed(StandardAuthorizer authorizer, JsonNode question) throws IOException {
        ResourceType type = type(question.get(3));
        ResourcePattern resource = new ResourcePattern(type, question.get(4).asText(), PatternType.LITERAL);
        Action action = new Action(operation(question.get(2)), resource, 1, false, false);
        List<AuthorizationResult> results = authorizer.authorize(context(question), List.of(action));
        return results.get(0) == AuthorizationResult.ALLOWED;
    }

    private static boolean isAnyAllowed(Authorizer authorizer, JsonNode question) throws IOException {
        AclOperation operation = operation(question.get(2));
        ResourceType type = type(question.get(3));
        return authorizer.authorizeByResourceType(context(question), operation, type)
            == AuthorizationResult.ALLOWED;
    }

    private static AuthorizableRequestContext context(JsonNode question) throws IOException {
        KafkaPrincipal principal = SecurityUtils.parseKafkaPrincipal(question.get(0).asText());
        return new Context(principal, InetAddress.getByName(question.get(1).asText()));
    }

    private static AclBinding binding(JsonNode fields) {
        ResourcePattern pattern =
            new ResourcePattern(type(fields.get(0)), fields.get(2).asText(), patternType(fields.get(1)));
        AccessControlEntry entry = new AccessControlEntry(
            fields.get(3).asText(), fields.get(4).asText(), operation(fields.get(5)), permission(fields.get(6)));
        return new AclBinding(pattern, entry);
    }

    private static AclBindingFilter filter(JsonNode fields) {
        ResourcePatternFilter pattern =
            new ResourcePatternFilter(type(fields.get(0)), text(fields.get(2)), patternType(fields.get(1)));
        AccessControlEntryFilter entry = new AccessControlEntryFilter(
            text(fields.get(3)), text(fields.get(4)), operation(fields.get(5)), permission(fields.get(6)));
        return new AclBindingFilter(pattern, entry);
    }

    private static String text(JsonNode field) {
        return field.isNull() ? null : field.asText();
    }

    private static ResourceType type(JsonNode code) {
        return ResourceType.fromCode((byte) code.asInt());
    }

    private static PatternType patternType(JsonNode code) {
        return PatternType.fromCode((byte) code.asInt());
    }

    private static AclOperation operation(JsonNode code) {
        return AclOperation.fromCode((byte) code.asInt());
    }

    private static AclPermissionType permission(JsonNode code) {
        return AclPermissionType.fromCode((byte) code.asInt());
    }

    /** Decides as another one does, but for what Kafka's interface does by default. */
    private record Plain(Authorizer inner) implements Authorizer {
        @Override
        public List<AuthorizationResult> authorize(AuthorizableRequestContext context, List<Action> actions) {
            return inner.authorize(context, actions);
        }

        @Override
        public Iterable<AclBinding> acls(AclBindingFilter filter) {
            return inner.acls(filter);
        }

        @Override
        public Map<Endpoint, ? extends CompletionStage<Void>> start(AuthorizerServerInfo serverInfo) {
            return Map.of();
        }

        @Override
        public List<? extends CompletionStage<AclCreateResult>> createAcls(
                AuthorizableRequestContext context, List<AclBinding> bindings) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<? extends CompletionStage<AclDeleteResult>> deleteAcls(
                AuthorizableRequestContext context, List<AclBindingFilter> filters) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void configure(Map<String, ?> configs) {}

        @Override
        public void close() {}
    }

    /** Who asks; the rest of a request is nothing that StandardAuthorizer decides by. */
    private record Context(KafkaPrincipal principal, InetAddress clientAddress)
        implements AuthorizableRequestContext {
        @Override
        public String listenerName() {
            return "SASL_PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.SASL_PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 0;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return "oracle";
        }

        @Override
        public int correlationId() {
            return 0;
        }
    }
}
