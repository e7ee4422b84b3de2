{{/*
Names are the same in every release: Service and Secret are what scripts rely on, the manager looks for its own objects by name (src/kube/names/names.ts), and only one release can own the custom resource definition.
The NetworkPolicy of a cluster lets managers in by app.kubernetes.io/name (src/kube/objects/network-policy.ts).
*/}}
{{- define "regent.selector" -}}
app.kubernetes.io/name: regent
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: manager
{{- end }}

{{- define "regent.labels" -}}
{{ include "regent.selector" . }}
{{ include "regent.chartLabels" . }}
{{- end }}

{{- define "regent.chartLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
