{{/* The name of everything: that of the release, with the chart's where the release does not say it. */}}
{{- define "windlass.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "windlass.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "windlass.fullname" .) -}}
{{- end -}}

{{- define "windlass.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* What every object carries. */}}
{{- define "windlass.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* What the controller's pods are selected by. */}}
{{- define "windlass.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end -}}

{{/* Each verb is used by the code. No wildcard, and Secrets in a role of their own. */}}
{{- define "windlass.rules" -}}
- apiGroups: [argoproj.io]
  resources: [rolloutplugins]
  verbs: [get, list, watch, patch]
- apiGroups: [argoproj.io]
  resources: [rolloutplugins/status, rolloutplugins/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, patch]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
- apiGroups: [argoproj.io]
  resources: [analysistemplates]
  verbs: [list, watch]
- apiGroups: [argoproj.io]
  resources: [analysisruns]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [argoproj.io]
  resources: [analysisruns/status, analysisruns/finalizers]
  verbs: [update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
{{- end -}}

{{/* What belongs to the cluster: templates for every namespace, and whether the hold is in force. */}}
{{- define "windlass.clusterRules" -}}
- apiGroups: [argoproj.io]
  resources: [clusteranalysistemplates]
  verbs: [list, watch]
- apiGroups: [admissionregistration.k8s.io]
  resources:
  - mutatingadmissionpolicies
  - mutatingadmissionpolicybindings
  - validatingadmissionpolicies
  - validatingadmissionpolicybindings
  verbs: [list, watch]
{{- end -}}

{{/* Secrets are read one at a time, by the name that a template or a provider gives: never listed, never watched. */}}
{{- define "windlass.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end -}}

{{/* The Lease of the controller, by the name that the binary gives it. */}}
{{- define "windlass.lease" -}}
{{- if .Values.instance -}}
{{- printf "windlass-%s" (.Values.instance | lower | replace "_" "-") -}}
{{- else -}}
windlass
{{- end -}}
{{- end -}}

{{/* Who of the replicas works. The right to create cannot be limited by name. */}}
{{- define "windlass.leaseRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "windlass.lease" . }}]
  verbs: [list, watch, update]
{{- end -}}

{{/* The users that the policies let through, as CEL writes a list of strings. */}}
{{- define "windlass.identities" -}}
{{- $own := printf "system:serviceaccount:%s:%s" .Release.Namespace (include "windlass.serviceAccountName" .) -}}
{{- range $index, $name := prepend .Values.policies.identities $own | uniq -}}
{{- if $index }}, {{ end -}}
'{{ $name }}'
{{- end -}}
{{- end -}}

{{/*
The documents of a file that `make manifests` wrote, with our labels.
Takes a dict: context, text, annotations.
*/}}
{{- define "windlass.documents" -}}
{{- $labels := include "windlass.labels" .context | fromYaml -}}
{{- range $document := regexSplit "(?m)^---$" .text -1 }}
{{- $object := fromYaml $document }}
{{- if $object.Error }}
{{- fail $object.Error }}
{{- end }}
{{- $_ := set $object.metadata "labels" (merge dict $labels ($object.metadata.labels | default dict)) }}
{{- with $.annotations }}
{{- $_ := set $object.metadata "annotations" (merge dict . ($object.metadata.annotations | default dict)) }}
{{- end }}
---
{{ toYaml $object }}
{{- end }}
{{- end -}}
