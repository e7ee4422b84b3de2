import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

const clusterPattern = /^[a-z](?:[a-z0-9-]{0,37}[a-z0-9])?$/

export function isClusterName(name: string): boolean {
  return clusterPattern.test(name)
}

/** Gives the name back, or throws `REGENT_BAD_NAME`: 1 to 39 lower-case letters, digits and dashes. */
export function checkClusterName(name: string): string {
  if (isClusterName(name)) return name
  const shown = name.length > 60 ? `${name.slice(0, 57)}…` : name
  throw new RegentError(
    'REGENT_BAD_NAME',
    say`"${shown}" is no cluster name; allowed are 1 to 39 lower-case letters, digits and dashes, a letter first and no dash last`,
  )
}

/** The cluster that an instance's name belongs to: `shop` for `shop-0`. Throws `REGENT_BAD_NAME`. */
export function clusterOfInstance(instance: string): string {
  const match = /^(.+)-\d{1,2}$/.exec(instance)
  if (match?.[1] === undefined || !clusterPattern.test(match[1])) {
    throw new RegentError(
      'REGENT_BAD_NAME',
      say`"${instance.slice(0, 60)}" is no instance; instances are named <cluster>-<ordinal>, for example demo-0`,
    )
  }
  return match[1]
}
