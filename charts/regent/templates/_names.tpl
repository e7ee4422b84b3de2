{{- define "regent.name" -}}
{{ .Values.nameOverride | default "regent" }}
{{- end }}

{{/* Not by nameOverride: the NetworkPolicy of a cluster lets managers in by app.kubernetes.io/name (src/kube/network-policy.ts). */}}
{{- define "regent.selector" -}}
app.kubernetes.io/name: regent
app.kubernetes.io/instance: {{ .Release.Name }}
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

{{/* Holds the certificate of the webhooks, whoever makes it. */}}
{{- define "regent.webhookSecret" -}}
{{ include "regent.name" . }}-webhook-certificate
{{- end }}
