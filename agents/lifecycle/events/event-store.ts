import type { KubeEvent } from './event-object.ts'

/** Where Events are kept: three requests, each with a deadline. All reject with `REGENT_KUBE_…`. */
export interface EventStore {
  /** Undefined where there is none of that name. */
  get(namespace: string, name: string): Promise<KubeEvent | undefined>
  create(event: KubeEvent): Promise<void>
  update(event: KubeEvent): Promise<void>
}
