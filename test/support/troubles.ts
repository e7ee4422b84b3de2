import type { InstanceRow } from '#api-contract/views.ts'

/** All that is wrong with one instance, or with every one, as one text. */
export function troublesOf(instances: readonly InstanceRow[], instance?: string): string {
  return instances
    .filter(({ name }) => instance === undefined || name === instance)
    .flatMap(({ problems }) => problems.map(({ sentence }) => sentence))
    .join('; ')
}
