import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { followRecord } from '../manager-stream.ts'
import { managersOf } from './managers.ts'

const dayMs = 86_400_000
const moment = { wallMs: Date.now(), random: realRandom }

async function certified(authority: Issued) {
  const wish = { dns: ['localhost'], purposes: ['server'], validMs: dayMs } as const
  return issueLeaf(authority, wish, moment)
}

/** A manager over TLS, whose stream tells epoch 3; how often it was asked with the token. */
async function aManager(authority: Issued) {
  const asked: (string | undefined)[] = []
  const server: Server = createServer(await certified(authority), (request, response) => {
    asked.push(request.headers.authorization)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"name":"shops.shop","epoch":3,"primary":"shop-1","instances":[]}\n\n')
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  return { server, asked, url: `https://localhost:${(server.address() as AddressInfo).port}` }
}

async function mounted(ca: string) {
  const folder = await mkdtemp(join(tmpdir(), 'managers-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 't'.repeat(40), { mode: 0o600 })
  const trust = (authority: string) => writeFile(join(folder, 'ca.crt'), authority)
  await trust(ca)
  return { folder, tokenFile, trust }
}

it('A router follows the managers’ authority as soon as the file has another, and trusts nobody before', async () => {
  const [old, next] = await Promise.all([issueAuthority(dayMs, moment), issueAuthority(dayMs, moment)])
  const manager = await aManager(old)
  const { trust, ...files } = await mounted(old.cert)
  const stop = new AbortController()
  const heard: (number | null)[] = []
  const following = followRecord(managersOf({ ...files, url: async () => manager.url }), 'shops.shop', {
    signal: stop.signal,
    heard: (word) => heard.push(word?.epoch ?? null),
    warn: () => undefined,
  })
  onTestFinished(async () => {
    stop.abort()
    await following
  })
  await expect.poll(() => heard).toEqual([3])
  manager.server.setSecureContext(await certified(next))
  manager.server.closeAllConnections()
  await expect.poll(() => heard.filter((epoch) => epoch === null).length, { timeout: 5_000 }).toBeGreaterThan(2)
  expect(heard.filter((epoch) => epoch === 3)).toHaveLength(1)
  expect(manager.asked, 'whoever is not trusted never sees the token').toHaveLength(1)
  await trust(next.cert)
  await expect.poll(() => heard.at(-1), { timeout: 5_000 }).toBe(3)
})

it('Without an authority no manager is asked: Node would trust all of the web', async () => {
  const { trust: _, ...files } = await mounted('\n')
  const open = managersOf({ ...files, url: async () => 'https://localhost:1' })
  await expect(open()).rejects.toThrow('is empty: no manager is trusted')
})
