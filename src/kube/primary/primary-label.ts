import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { listInPages } from '#controller-runtime/client/list-pages.ts'
import type { ObjectKey } from '#controller-runtime/objects/objects.ts'
import { epochOf, withinRecord, type CommittedEpoch } from './epoch.ts'
import { selectorTextOf } from '../names/names.ts'
import { moveRoles, roleOf } from './role-labels.ts'
import { mysqlPort } from '../objects/services.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'

/** Each try reads again what somebody else changed meanwhile. */
const mostTries = 5

/**
 * The way to the primary where its Service selects by label (`routing: labels`): the label moves, and Kubernetes' own
 * controller follows with the endpoints. Read from etcd each time: a label that a cache has not seen would be one too
 * many.
 */
export class PrimaryLabel {
  readonly #client: Pick<KubeClient, 'list' | 'patch'>
  readonly #cluster: ObjectKey
  readonly #committedEpoch: CommittedEpoch

  constructor(client: Pick<KubeClient, 'list' | 'patch'>, cluster: ObjectKey, committedEpoch: CommittedEpoch) {
    this.#client = client
    this.#cluster = cluster
    this.#committedEpoch = committedEpoch
  }

  /** Resolves to false where a newer epoch is published. Idempotent. */
  async publish({ epoch, instance }: PrimaryRoute): Promise<boolean> {
    for (let tries = 1; tries <= mostTries; tries += 1) {
      const all = await this.#pods()
      if (all.some((pod) => epochOf(pod) > epoch)) return false
      const replicas = all.filter((pod) => roleOf(pod) === 'replica').map(({ metadata }) => metadata.name)
      if (await moveRoles(this.#client, all, { epoch, primary: instance, replicas })) return true
    }
    throw new RegentError(
      'REGENT_REFUSED',
      say`pod ${instance} cannot be labelled as primary: it is not there, or it and its siblings change all the time`,
    )
  }

  async published(): Promise<PrimaryRoute | undefined> {
    const [newest] = (await this.#pods())
      .filter((pod) => roleOf(pod) === 'primary')
      .toSorted((a, b) => epochOf(b) - epochOf(a))
    return (
      newest && {
        epoch: epochOf(newest),
        instance: newest.metadata.name,
        host: newest.status?.podIP ?? '',
        port: mysqlPort,
      }
    )
  }

  async #pods(): Promise<readonly Pod[]> {
    const { namespace, name } = this.#cluster
    const selected = { namespace, labelSelector: selectorTextOf(name), keep: withoutSpec }
    const { objects } = await listInPages(this.#client, pods, selected)
    const committed = await this.#committedEpoch()
    return objects.map((pod) => withinRecord(pod, committed))
  }
}

/** Pods are kept without their specs: a pod that anybody gave the label may be large. */
function withoutSpec({ spec: _spec, ...pod }: Pod): Pod {
  return pod
}
