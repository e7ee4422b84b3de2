import type { V1Container, V1PodSpec } from '@kubernetes/client-node'
import type { Rendered } from './helm.ts'

/** A pod that an object of a chart is, or makes. */
export interface PodTemplate {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: V1PodSpec
}

interface Metadata {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export function podTemplates(objects: readonly Rendered[]): readonly PodTemplate[] {
  return objects.flatMap((object) => {
    const { kind, metadata } = object
    const inner = (
      object['spec'] as { readonly template?: { readonly metadata: Metadata; readonly spec: V1PodSpec } } | undefined
    )?.template
    const pod = kind === 'Pod' ? { metadata, spec: object['spec'] as V1PodSpec } : inner
    return pod === undefined
      ? []
      : [
          {
            name: `${kind} ${metadata.name}`,
            labels: pod.metadata.labels ?? {},
            annotations: pod.metadata.annotations ?? {},
            spec: pod.spec,
          },
        ]
  })
}

/** The pod that an object is, or makes. */
export function podOf(object: Rendered): PodTemplate {
  const [pod] = podTemplates([object])
  if (pod === undefined) throw new Error(`${object.kind} has no pods`)
  return pod
}

export function containersOf({ spec }: PodTemplate): readonly V1Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers]
}

export function imagesIn(objects: readonly Rendered[]): readonly string[] {
  return podTemplates(objects).flatMap((pod) => containersOf(pod).map(({ image = '' }) => image))
}

export function isSelected(
  labels: Readonly<Record<string, string>>,
  selector: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(selector).every(([label, value]) => labels[label] === value)
}

/**
 * What the "restricted" level of Pod Security has against it, or a file system that can be written to; '' where
 * nothing.
 */
export function restrictedComplaint(pod: PodTemplate): string {
  const { securityContext = {}, hostNetwork, hostPID, hostIPC, volumes = [] } = pod.spec
  const { runAsNonRoot, runAsUser, seccompProfile } = securityContext
  const isHarmless = volumes.every(({ configMap, secret, emptyDir }) => configMap ?? secret ?? emptyDir)
  const complaints = [
    runAsNonRoot === true && runAsUser !== 0 ? '' : 'may run as root',
    seccompProfile?.type === 'RuntimeDefault' ? '' : 'has no seccomp profile',
    [hostNetwork, hostPID, hostIPC].includes(true) ? 'shares namespaces of its node' : '',
    isHarmless ? '' : 'mounts more than configuration, secrets and scratch space',
    ...containersOf(pod).map(({ name, securityContext: own }) => {
      const isClosed =
        own?.allowPrivilegeEscalation === false &&
        own.readOnlyRootFilesystem === true &&
        own.capabilities?.drop?.includes('ALL') &&
        own.capabilities.add === undefined
      return isClosed ? '' : `container ${name} can gain rights or write to its image`
    }),
  ]
  return complaints
    .filter((complaint) => complaint !== '')
    .map((complaint) => `${pod.name} ${complaint}`)
    .join('; ')
}
