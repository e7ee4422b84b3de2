{{- define "regent.image" -}}
{{- with .Values.image -}}
{{- $name := empty .registry | ternary .repository (printf "%s/%s" .registry .repository) -}}
{{ empty .digest | ternary (printf "%s:%s" $name (.tag | default $.Chart.AppVersion)) (printf "%s@%s" $name .digest) }}
{{- end }}
{{- end }}

{{/* An image names its registry where its first part looks like a host: it has a dot or a port, or is "localhost". */}}
{{- define "regent.mysqlImage" -}}
{{- $image := .Values.mysql.image -}}
{{- if or (empty .Values.image.registry) (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $image) -}}
{{ $image }}
{{- else -}}
{{ .Values.image.registry }}/{{ $image }}
{{- end }}
{{- end }}
