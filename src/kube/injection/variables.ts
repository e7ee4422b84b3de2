import type { V1EnvVar } from '@kubernetes/client-node'

/** A value that arrives as it is: the kubelet replaces `$(NAME)`, of which scripts are full, and makes `$` of `$$`. */
export function literal(name: string, text: string): V1EnvVar {
  return { name, value: text.replaceAll('$', '$$$$') }
}

/** Which pod an agent is in, for Events: what `agents/lifecycle/configuration/pod-identity.ts` reads. */
export const podVariables: readonly V1EnvVar[] = [
  fromPod('KB_AGENT_NAMESPACE', 'metadata.namespace'),
  fromPod('KB_AGENT_POD_NAME', 'metadata.name'),
  fromPod('KB_AGENT_POD_UID', 'metadata.uid'),
  fromPod('KB_AGENT_NODE_NAME', 'spec.nodeName'),
]

function fromPod(name: string, fieldPath: string): V1EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}
