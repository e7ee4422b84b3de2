import { reported, say, time, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { watchCertificateFolder, type WatchedFolder } from '#common/tls/certificate-folder.ts'
import { codeOf, described } from '#common/errors/errors.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import type { TlsMaterial } from '#common/tls/tls.ts'
import type { CertificatePort } from '../ports/certificate.ts'
import type { Notices } from '../instance/notices.ts'
import type { ProcessPort } from '../ports/process.ts'
import type { CertificateFiles, ServerPort } from '../ports/server.ts'

export interface CertificateFolders {
  /** Where somebody puts `tls.crt`, `tls.key` and perhaps `ca.crt`, now and again. */
  readonly given: string
  /** Where mysqld reads copies of them. */
  readonly shown: string
}

interface Ports {
  readonly process: Pick<ProcessPort, 'pid'>
  readonly server: Pick<ServerPort, 'showCertificate'>
  readonly notices: Notices
  readonly world: { readonly clock: Clock; readonly timers: Timers }
}

/** Shows what a folder of files holds, as Kubernetes or cert-manager puts them there. */
export class ClientCertificate implements CertificatePort {
  readonly #folders: CertificateFolders
  readonly #ports: Ports
  readonly #wake: () => void
  #watched: WatchedFolder | null = null
  /** What the folder says, and what mysqld said. */
  #unreadable: Said = ''
  #refused: Said = ''
  /** What this mysqld was last asked to show. */
  #asked: { readonly pid: number; readonly material: TlsMaterial } | null = null
  /** What a mysqld last took. */
  #shown: TlsMaterial | null = null

  /** @param wake told when there is something to show, or to report */
  constructor(folders: CertificateFolders, ports: Ports, wake: () => void) {
    this.#folders = folders
    this.#ports = ports
    this.#wake = wake
  }

  async start(): Promise<void> {
    const { world } = this.#ports
    const log = { info: () => this.#read(''), warn: (sentence: string) => this.#read(sentence) }
    this.#watched = await watchCertificateFolder({ folder: this.#folders.given, world, log, checksPeers: false })
  }

  stop(): void {
    this.#watched?.close()
  }

  get trouble(): Said {
    return this.#refused || this.#unreadable
  }

  get isDue(): boolean {
    const { pid } = this.#ports.process
    const wanted = this.#watched?.current()
    return pid !== null && wanted !== undefined && (this.#asked?.pid !== pid || this.#asked.material !== wanted)
  }

  async show(): Promise<void> {
    const { pid } = this.#ports.process
    const wanted = this.#watched?.current()
    if (!this.isDue || pid === null || wanted === undefined) return
    const isNew = this.#asked?.pid !== pid
    this.#asked = { pid, material: wanted }
    this.#refused = await this.#ask(wanted)
    if (this.#refused === '') {
      this.#shown = wanted
      this.#ports.notices.add('ClientCertificate', say`clients are shown the certificate ${nameOf(wanted)}`)
    } else {
      this.#ports.notices.add('ClientCertificate', this.#refused)
      if (isNew && this.#shown !== null) await this.#ask(this.#shown)
    }
  }

  #read(complaint: string): void {
    this.#unreadable = complaint === '' ? '' : say`${reported(complaint)}`
    if (this.#unreadable !== '') this.#ports.notices.add('ClientCertificate', this.#unreadable)
    this.#wake()
  }

  /** Why the certificate is not shown; '' where it is. */
  async #ask(material: TlsMaterial): Promise<Said> {
    const name = createHash('sha256').update(JSON.stringify(material)).digest('hex').slice(0, 16)
    try {
      await this.#ports.server.showCertificate(await this.#copy(material, name))
      await this.#removeAllBut(name)
      return ''
    } catch (error) {
      // Nobody said no: it is asked again.
      if (codeOf(error) !== 'REGENT_SERVER_ERROR') this.#asked = null
      return say`mysqld does not take the certificate ${nameOf(material)} for clients and shows the one it has: ${described(error)}`
    }
  }

  /** Into a folder of its own: what mysqld shows now must stay readable until it shows this. */
  async #copy({ cert, key, ca }: TlsMaterial, name: string): Promise<CertificateFiles> {
    const folder = join(this.#folders.shown, name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const write = async (file: string, text: string): Promise<string> => {
      const path = join(folder, file)
      await writeFile(path, text, { mode: 0o600 })
      return path
    }
    // mysqld looks at the first certificate alone, and refuses one that none of its authorities has signed (seen on
    // 9.7).
    const [, ...between] = cert.split(/(?<=-----END CERTIFICATE-----)/)
    return {
      cert: await write('tls.crt', cert),
      key: await write('tls.key', key),
      ca: ca === '' ? null : await write('ca.crt', [ca, ...between].join('\n')),
    }
  }

  async #removeAllBut(name: string): Promise<void> {
    for (const other of await readdir(this.#folders.shown)) {
      if (other !== name) await rm(join(this.#folders.shown, other), { recursive: true, force: true })
    }
  }
}

function nameOf({ cert }: TlsMaterial): Sentence {
  const { subjectAltName, subject, validToDate } = new X509Certificate(cert)
  return say`for ${subjectAltName ?? subject}, valid until ${time(`${validToDate.toISOString().slice(0, 16)}Z`)}`
}
