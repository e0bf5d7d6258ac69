{{/* Who may read which Secrets: a role, and a binding to delete. */}}
{{- define "windlass.secrets" -}}
{{- $secrets := .Values.rbac.secrets }}
{{- $cluster := eq .Values.rbac.scope "cluster" }}
{{- if and (eq $secrets.read "listed") (not $cluster) }}
{{- fail "rbac.secrets.read=listed needs rbac.scope=cluster: a controller for one namespace reads its Secrets there (all), or nowhere (none)" }}
{{- end }}
{{- if ne $secrets.read "none" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRole" "Role" $cluster }}
metadata:
  name: {{ include "windlass.fullname" . }}-secrets
  {{- if not $cluster }}
  namespace: {{ .Release.Namespace }}
  {{- end }}
  labels:
    {{- include "windlass.labels" . | nindent 4 }}
rules:
{{ include "windlass.secretRules" . }}
{{- end }}
{{- if eq $secrets.read "listed" }}
{{- range $secrets.namespaces }}
{{ include "windlass.secretBinding" (dict "context" $ "namespace" .) }}
{{- end }}
{{- else if eq $secrets.read "all" }}
{{ include "windlass.secretBinding" (dict "context" . "namespace" (ternary "" .Release.Namespace $cluster)) }}
{{- end }}
{{- end -}}

{{/* Takes a dict: context, namespace; an empty one means all of them. */}}
{{- define "windlass.secretBinding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (ne .namespace "") }}
metadata:
  name: {{ include "windlass.fullname" .context }}-secrets
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "windlass.labels" .context | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "ClusterRole" "Role" (eq .context.Values.rbac.scope "cluster") }}
  name: {{ include "windlass.fullname" .context }}-secrets
subjects:
- kind: ServiceAccount
  name: {{ include "windlass.serviceAccountName" .context }}
  namespace: {{ .context.Release.Namespace }}
{{- end -}}
