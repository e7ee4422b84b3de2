import { codeOf, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

export function missingObject(address: string, key: string): RegentError {
  return new RegentError('REGENT_NOT_FOUND', say`Store of backups ${address} has no object ${key}.`, {
    remedy: 'Look whether the address of the store is the right one, or who deleted the object.',
  })
}

/** Whether a store has no such object. Retention deletes while others read, and the list of a store may be late. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'REGENT_NOT_FOUND'
}
