import { watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { described, describeError, RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'
import type { Logger } from '../log/logger.ts'
import type { Clock, Timers } from '../ports/ports.ts'
import { HeldCertificates, type CertificateSource, type TlsMaterial } from './tls.ts'

export interface FolderParts {
  /** With `tls.crt`, `tls.key` and `ca.crt`, as Kubernetes mounts a Secret. */
  readonly folder: string
  readonly world: { readonly clock: Clock; readonly timers: Timers }
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Whether peers are checked: then `ca.crt` must be there. */
  readonly checksPeers: boolean
  /** How long to wait at the start for whoever makes the files. */
  readonly waitMs?: number
  /** Ends that wait. */
  readonly signal?: AbortSignal
}

/** Its certificates are undefined until they can be used. */
export interface WatchedFolder extends CertificateSource {
  close(): void
}

export interface FollowedFolder extends WatchedFolder {
  current(): TlsMaterial
}

const rereadMs = 60_000
const retryMs = 500
/** The kubelet swaps a link after it has written all files; others write one after the other. */
const quietMs = 100

/**
 * Reads the certificates of a folder, and again whenever it changes and once a minute. Rejects with
 * `REGENT_BAD_CERTIFICATE` where they cannot be used after `waitMs`; later what was read before is kept, and the log
 * says what is wrong.
 */
export async function followCertificateFolder(parts: FolderParts): Promise<FollowedFolder> {
  const held = new HeldCertificates()
  await readPatiently(held, parts)
  return new Follower(held, parts)
}

/**
 * The same for a folder that may be missing, or hold what cannot be used: the log says so, and it is read as soon as
 * that changes. Resolves when it was read once.
 */
export async function watchCertificateFolder(parts: FolderParts): Promise<WatchedFolder> {
  const held = new HeldCertificates()
  const follower = new Follower(held, parts)
  await follower.reread()
  return { current: () => held.current(), onChange: (changed) => held.onChange(changed), close: () => follower.close() }
}

async function readPatiently(held: HeldCertificates, parts: FolderParts): Promise<void> {
  const { clock, timers } = parts.world
  const deadlineMs = clock.monotonicMs() + (parts.waitMs ?? 0)
  for (;;) {
    try {
      held.put(await read(parts), parts.folder)
      return
    } catch (error) {
      if (clock.monotonicMs() >= deadlineMs) throw error
    }
    await timers.sleep(retryMs, parts.signal)
  }
}

async function read({ folder, checksPeers }: FolderParts): Promise<TlsMaterial> {
  const fileIn = async (name: string): Promise<string> => {
    try {
      return await readFile(join(folder, name), 'utf8')
    } catch (error) {
      if (name === 'ca.crt' && !checksPeers && (error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      throw new RegentError('REGENT_BAD_CERTIFICATE', say`${folder}: ${name} cannot be read: ${described(error)}`, {
        cause: error,
      })
    }
  }
  const material = { cert: await fileIn('tls.crt'), key: await fileIn('tls.key'), ca: await fileIn('ca.crt') }
  if (checksPeers && material.ca === '')
    throw new RegentError('REGENT_BAD_CERTIFICATE', say`${folder}: ca.crt is empty`)
  return material
}

class Follower implements FollowedFolder {
  readonly #held: HeldCertificates
  readonly #parts: FolderParts
  readonly #ends: (() => void)[]
  #said = ''
  #isSoon = false

  constructor(held: HeldCertificates, parts: FolderParts) {
    this.#held = held
    this.#parts = parts
    const regular = parts.world.timers.every(rereadMs, () => void this.reread())
    this.#ends = [() => regular.cancel(), ...this.#watch()]
  }

  current(): TlsMaterial {
    const held = this.#held.current()
    if (held === undefined) throw new RegentError('REGENT_INTERNAL', say`${this.#parts.folder} was not read`)
    return held
  }

  onChange(changed: (material: TlsMaterial) => void): () => void {
    return this.#held.onChange(changed)
  }

  close(): void {
    for (const end of this.#ends) end()
  }

  /** Where nothing can be watched (inotify has limits), reading once a minute must do. */
  #watch(): (() => void)[] {
    const { folder, log } = this.#parts
    try {
      const watcher = watch(folder, () => this.#rereadSoon())
      watcher.on('error', (error) =>
        log.warn(`certificates: ${folder} is no longer watched, only read once a minute: ${describeError(error)}`),
      )
      return [() => watcher.close()]
    } catch (error) {
      log.warn(`certificates: ${folder} is not watched, only read once a minute: ${describeError(error)}`)
      return []
    }
  }

  #rereadSoon(): void {
    if (this.#isSoon) return
    this.#isSoon = true
    this.#parts.world.timers.after(quietMs, () => {
      this.#isSoon = false
      void this.reread()
    })
  }

  async reread(): Promise<void> {
    const { folder, log } = this.#parts
    try {
      if (this.#held.put(await read(this.#parts), folder))
        log.info(`certificates: those of ${folder} are new and in use`)
      else if (this.#said !== '') log.info(`certificates: those of ${folder} are in order again`)
      this.#said = ''
    } catch (error) {
      const trouble = describeError(error)
      if (trouble !== this.#said) log.warn(`certificates: ${trouble}; the ones before stay in use`)
      this.#said = trouble
    }
  }
}
