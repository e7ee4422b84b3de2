import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realRandom, realWorld } from '#common/ports/real-world.ts'
import { ClientCertificate } from '#agents/guard/client-certificate.ts'
import { Notices } from '#agents/instance/notices.ts'
import type { CertificateFiles } from '#agents/ports/server.ts'

let authority: Issued
let first: Issued
let second: Issued
let folder: string
let given: string
let shown: string
let process: { pid: number | null }
let asked: { readonly cert: string; readonly files: CertificateFiles }[]
let answers: (Error | undefined)[]
let certificate: ClientCertificate
const said: string[] = []
const woken = vi.fn()
const refusal = new RegentError('REGENT_SERVER_ERROR', say`ALTER INSTANCE RELOAD TLS: ee key too small (3888)`)

beforeAll(async () => {
  const moment = { wallMs: Date.now(), random: realRandom }
  authority = await issueAuthority(86_400_000, moment)
  const leaf = () => issueLeaf(authority, { dns: ['db.example'], purposes: ['server'], validMs: 3_600_000 }, moment)
  first = await leaf()
  second = await leaf()
})

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-client-certificate-'))
  given = join(folder, 'given')
  shown = join(folder, 'shown')
  await mkdir(given)
  process = { pid: 100 }
  asked = []
  answers = []
  said.length = 0
  const showCertificate = async (files: CertificateFiles): Promise<void> => {
    asked.push({ cert: await readFile(files.cert, 'utf8'), files })
    const answer = answers.shift()
    if (answer !== undefined) throw answer
  }
  certificate = new ClientCertificate(
    { given, shown },
    {
      process,
      server: { showCertificate },
      notices: new Notices(realWorld.clock, (sentence) => said.push(sentence)),
      world: realWorld,
    },
    woken,
  )
})

afterEach(async () => {
  certificate.stop()
  await rm(folder, { recursive: true })
})

async function give({ cert, key }: Issued, ca = authority.cert): Promise<void> {
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
    ['ca.crt', ca],
  ] as const)
    await writeFile(join(given, name), text)
}

/** Given while the folder is watched, and taken note of. */
async function renew(issued: Issued): Promise<void> {
  await give(issued)
  await vi.waitFor(() => expect(certificate.isDue).toBe(true), { timeout: 60_000 })
}

const certsAsked = () => asked.map(({ cert }) => (cert === first.cert ? 'first' : 'second'))

describe('the certificate for clients', () => {
  it('is shown once by each mysqld, from a copy that nobody else reads', async () => {
    await give(first)
    await certificate.start()
    await certificate.show()
    await certificate.show()
    expect(certsAsked()).toEqual(['first'])
    const { files } = asked[0] ?? expect.fail('nothing was asked')
    expect([
      await readFile(files.cert, 'utf8'),
      await readFile(files.key, 'utf8'),
      await readFile(files.ca ?? '', 'utf8'),
    ]).toEqual([first.cert, first.key, expect.stringContaining(authority.cert)])
    expect((await stat(files.key)).mode & 0o777).toBe(0o600)
    process.pid = 101
    await certificate.show()
    expect(certsAsked()).toEqual(['first', 'first'])
    expect(certificate.trouble).toBe('')
  })

  it('waits for a mysqld, and for its own files: until then that is reported', async () => {
    process.pid = null
    await certificate.start()
    expect(String(certificate.trouble)).toContain('tls.crt cannot be read')
    await give(first)
    await vi.waitFor(() => expect(certificate.trouble).toBe(''), { timeout: 60_000 })
    expect(certificate.isDue).toBe(false)
    process.pid = 100
    expect(certificate.isDue).toBe(true)
    expect(woken).toHaveBeenCalled()
  })

  it('is replaced by a renewed one, whose predecessor’s key does not stay behind', async () => {
    await give(first)
    await certificate.start()
    await certificate.show()
    await renew(second)
    await certificate.show()
    expect(certsAsked()).toEqual(['first', 'second'])
    expect(await readdir(shown)).toEqual([basename(dirname(asked[1]?.files.cert ?? ''))])
  })

  it('stays where the renewed one does not fit its key', async () => {
    await give(first)
    await certificate.start()
    await certificate.show()
    await writeFile(join(given, 'tls.key'), second.key)
    await vi.waitFor(() => expect(String(certificate.trouble)).toContain('tls.key is not the key of tls.crt'), {
      timeout: 60_000,
    })
    await certificate.show()
    expect(certsAsked()).toEqual(['first'])
    await writeFile(join(given, 'tls.key'), first.key)
    await vi.waitFor(() => expect(certificate.trouble).toBe(''), { timeout: 60_000 })
  })

  it('stays where mysqld does not take the renewed one, also for the next mysqld', async () => {
    await give(first)
    await certificate.start()
    await certificate.show()
    await renew(second)
    answers = [refusal]
    await certificate.show()
    expect(String(certificate.trouble)).toContain(
      'mysqld does not take the certificate for DNS:db.example, valid until',
    )
    expect(said.at(-1)).toContain('ee key too small')
    await certificate.show()
    expect(certsAsked()).toEqual(['first', 'second'])
    process.pid = 101
    answers = [refusal]
    await certificate.show()
    expect(certsAsked()).toEqual(['first', 'second', 'second', 'first'])
    expect(certificate.trouble).not.toBe('')
  })

  it('is offered again where mysqld did not answer', async () => {
    await give(first)
    await certificate.start()
    answers = [new RegentError('REGENT_SERVER_TIMEOUT', say`ALTER INSTANCE RELOAD TLS: no answer`)]
    await certificate.show()
    expect(certificate.isDue).toBe(true)
    await certificate.show()
    expect([certsAsked(), certificate.trouble]).toEqual([['first', 'first'], ''])
  })

  it('is known to mysqld by all that stand between it and its authority', async () => {
    await give({ ...first, cert: `${first.cert}\n${second.cert}` })
    await certificate.start()
    await certificate.show()
    const authorities = await readFile(asked[0]?.files.ca ?? '', 'utf8')
    expect([authority, second, first].map(({ cert }) => authorities.includes(cert.trim()))).toEqual([true, true, false])
  })

  it('needs no authority', async () => {
    await give(first, '')
    await certificate.start()
    await certificate.show()
    expect(asked[0]?.files.ca).toBeNull()
  })
})
