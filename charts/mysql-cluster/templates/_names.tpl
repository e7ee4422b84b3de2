{{/* A longer one would make names of Services too long, and one with other characters no host name (src/kube/names/names.ts). */}}
{{- define "mysql-cluster.name" -}}
{{- $name := .Values.nameOverride | default .Release.Name -}}
{{- if or (gt (len $name) 39) (not (regexMatch "^[a-z][a-z0-9-]*$" $name)) -}}
{{- fail (printf "%q cannot name a cluster: allowed are at most 39 lower-case letters, digits and hyphens, a letter first. Choose another release name, or set nameOverride." $name) }}
{{- end -}}
{{ $name }}
{{- end }}

{{- define "mysql-cluster.labels" -}}
app.kubernetes.io/name: mysql-cluster
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
