import { isDeepStrictEqual } from 'node:util'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { keyOf, keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { runOf } from '#kube/backup/backup-course.ts'
import type { MySQLBackupStatus } from '#kube/backup/backup-schema.ts'
import type { MySQLBackup } from '#kube/backup/mysql-backup.ts'

/** What a manager remembers of runs beside what is stored: who is choosing now, when somebody last spoke of one. */
export class RunBook {
  /** By cluster. */
  readonly #choosing = new Set<string>()
  /** By object. */
  readonly #heard = new Map<string, { readonly run: string; readonly atMs: number }>()
  readonly #written = new Map<string, number>()
  readonly #lookedUp = new Map<string, number>()
  /** By cluster and name: there is, or was, an object for it. */
  readonly #known = new Set<string>()

  /**
   * Throws `REGENT_REFUSED` while another object of the cluster has its run: one waits for the other.
   * @returns what ends the claim
   */
  claim(cluster: ObjectKey, { metadata }: MySQLBackup, all: readonly MySQLBackup[]): () => void {
    const text = keyText(cluster)
    const other = all.find(
      (one) =>
        one.metadata.namespace === cluster.namespace &&
        one.spec.cluster === cluster.name &&
        one.metadata.uid !== metadata.uid &&
        one.status?.phase === 'Running',
    )
    if (other !== undefined)
      throw new RegentError('REGENT_REFUSED', say`it waits for MySQLBackup ${other.metadata.name}, which runs`)
    if (this.#choosing.has(text)) throw new RegentError('REGENT_REFUSED', say`it waits for another one that begins now`)
    this.#choosing.add(text)
    return () => void this.#choosing.delete(text)
  }

  heard(key: ObjectKey, run: string, atMs: number): void {
    this.#heard.set(keyText(key), { run, atMs })
  }

  /** A manager that has just begun to look counts the run as heard now. */
  heardAt(key: ObjectKey, run: string, nowMs: number): number {
    const known = this.#heard.get(keyText(key))
    if (known?.run === run) return known.atMs
    this.heard(key, run, nowMs)
    return nowMs
  }

  /** Whether the store may be asked for the run of an object: an agent reads all of its manifests for that. */
  mayLookUp(key: ObjectKey, { nowMs, pauseMs }: { readonly nowMs: number; readonly pauseMs: number }): boolean {
    if (nowMs - (this.#lookedUp.get(keyText(key)) ?? -Infinity) < pauseMs) return false
    this.#lookedUp.set(keyText(key), nowMs)
    return true
  }

  /** Whether a status differs from what is stored: at once in more than figures, in figures now and then. */
  isWorthWriting(
    object: MySQLBackup,
    status: MySQLBackupStatus,
    { nowMs, pauseMs }: { readonly nowMs: number; readonly pauseMs: number },
  ): boolean {
    const { status: stored } = object
    const key = keyOf(object)
    if (isDeepStrictEqual(stored, status)) return false
    const sinceMs = nowMs - (this.#written.get(keyText(key)) ?? -Infinity)
    const isNews = stored?.phase !== status.phase || stored?.instance !== status.instance
    if (!isNews && sinceMs < pauseMs) return false
    this.#written.set(keyText(key), nowMs)
    return true
  }

  /** Whether an object tells of this run, or did: one that a person deleted is not made again. */
  isKnown(cluster: ObjectKey, run: string, all: readonly MySQLBackup[]): boolean {
    for (const object of all) {
      const named = runOf(object)
      if (named !== undefined) this.#known.add(textOf({ ...keyOf(object), name: object.spec.cluster }, named))
    }
    return this.#known.has(textOf(cluster, run)) || this.#choosing.has(keyText(cluster))
  }

  note(cluster: ObjectKey, run: string): void {
    this.#known.add(textOf(cluster, run))
  }

  forget(key: ObjectKey): void {
    this.#heard.delete(keyText(key))
    this.#written.delete(keyText(key))
    this.#lookedUp.delete(keyText(key))
  }
}

function textOf(cluster: ObjectKey, run: string): string {
  return `${keyText(cluster)} ${run}`
}
