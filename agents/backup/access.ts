import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/** Gives the port that opens stores. Throws `REGENT_REFUSED` for an agent that can open none. */
export function requireAccess<Port>(port: Port | null, instance: string): Port {
  if (port !== null) return port
  throw new RegentError('REGENT_REFUSED', say`${instance} has no access to stores of backups`)
}
