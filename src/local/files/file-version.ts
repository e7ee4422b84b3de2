import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** Throws `REGENT_NEWER_VERSION` when a file of ours says it was written by a newer Regent. */
export function refuseNewer(path: string, value: unknown, understood: number): void {
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined
  if (typeof version === 'number' && version > understood) {
    throw new RegentError(
      'REGENT_NEWER_VERSION',
      say`${path} has version ${version}; this Regent understands up to ${understood}`,
    )
  }
}
