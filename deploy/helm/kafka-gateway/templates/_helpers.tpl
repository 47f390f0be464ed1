{{/* The release's name, in the names of all that is made. */}}
{{- define "kafka-gateway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "kafka-gateway.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kafka-gateway.labels" -}}
{{ include "kafka-gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "kafka-gateway.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* The node ids of all clusters, joined by blanks: "1-3" is 1 2 3. */}}
{{- define "kafka-gateway.nodes" -}}
{{- $ids := list -}}
{{- range .Values.config.clusters -}}
{{- range .node_ids -}}
{{- $ends := splitList "-" (toString .) -}}
{{- range untilStep (int (first $ends)) (int (add1 (last $ends))) 1 -}}
{{- $ids = append $ids (toString .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- join " " $ids -}}
{{- end -}}

{{/* Where a gateway of this release is found: in a fleet each for itself, else at the Service. */}}
{{- define "kafka-gateway.host" -}}
{{- $domain := printf "%s.svc.%s" .Release.Namespace .Values.clusterDomain -}}
{{- $name := include "kafka-gateway.fullname" . -}}
{{- if .Values.fleet.enabled -}}
${POD_NAME}.{{ $name }}-pods.{{ $domain }}
{{- else -}}
{{ $name }}.{{ $domain }}
{{- end -}}
{{- end -}}

{{/* The listeners of the gateway's configuration, with what the chart sets. */}}
{{- define "kafka-gateway.listeners" -}}
{{- $root := . -}}
{{- $count := len (splitList " " (include "kafka-gateway.nodes" .)) -}}
{{- $listeners := list -}}
{{- range .Values.config.listeners -}}
{{- $set := dict "bind" "0.0.0.0" "advertised_host" (include "kafka-gateway.host" $root) -}}
{{- if not .broker_names -}}
{{- $base := int (default (add1 .port) .broker_base_port) -}}
{{- $_ := set $set "broker_base_port" $base -}}
{{- if $root.Values.fleet.enabled -}}
{{- $_ := set $set "gateway_port" (add $base $count) -}}
{{- end -}}
{{- end -}}
{{- $listeners = append $listeners (mergeOverwrite $set (deepCopy .)) -}}
{{- end -}}
{{- toYaml $listeners -}}
{{- end -}}

{{/* The gateway's configuration. */}}
{{- define "kafka-gateway.config" -}}
{{- $metrics := mergeOverwrite (deepCopy (default dict .Values.config.metrics)) (dict "host" "0.0.0.0" "port" .Values.http.port) -}}
{{- $set := dict "workers" .Values.workers "metrics" $metrics -}}
{{- $_ := set $set "listeners" (include "kafka-gateway.listeners" . | fromYamlArray) -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $set) -}}
{{- end -}}

{{/* Every port that clients connect to, joined by blanks. */}}
{{- define "kafka-gateway.ports" -}}
{{- $count := len (splitList " " (include "kafka-gateway.nodes" .)) -}}
{{- $ports := list -}}
{{- range include "kafka-gateway.listeners" . | fromYamlArray -}}
{{- $ports = append $ports (toString .port) -}}
{{- if not .broker_names -}}
{{- $base := int .broker_base_port -}}
{{- range untilStep $base (int (add $base $count)) 1 -}}
{{- $ports = append $ports (toString .) -}}
{{- end -}}
{{- end -}}
{{- if .gateway_port -}}
{{- $ports = append $ports (toString .gateway_port) -}}
{{- end -}}
{{- end -}}
{{- join " " ($ports | uniq) -}}
{{- end -}}

{{/* "yes" if a port is below 1024, else nothing. */}}
{{- define "kafka-gateway.hasLowPort" -}}
{{- $low := "" -}}
{{- range splitList " " (include "kafka-gateway.ports" .) -}}
{{- if lt (int .) 1024 -}}{{- $low = "yes" -}}{{- end -}}
{{- end -}}
{{- $low -}}
{{- end -}}

{{/* The same as ports of a Service. */}}
{{- define "kafka-gateway.servicePorts" -}}
{{- range splitList " " (include "kafka-gateway.ports" .) }}
- name: tcp-{{ . }}
  port: {{ . }}
  targetPort: {{ . }}
  protocol: TCP
{{- end }}
{{- end -}}

{{/* Seconds from the order to end until a gateway is killed. */}}
{{- define "kafka-gateway.graceSeconds" -}}
{{- $drain := default 10 .Values.config.drain_seconds -}}
{{- int (add (int .Values.drain.preStopSeconds) (int (ceil $drain)) 10) -}}
{{- end -}}

{{- define "kafka-gateway.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "kafka-gateway.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "kafka-gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
