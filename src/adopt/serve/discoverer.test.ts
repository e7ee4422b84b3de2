import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { stateHome } from '#local/folder/state-layout.ts'
import { clusterIn, fileWith, temporaryFolder } from '#local/testing.ts'
import {
  adoptedFiles,
  adoptedFolder,
  allAdopted,
  forgetAdoption,
  keepAdoption,
  prepareFolder,
} from '../adopted-folder.ts'
import { checkAdoption, type Adoption } from '../adoption.ts'
import type { discover } from '../origin/discover.ts'
import { LookFailure } from '../servers/failure.ts'
import { looksOf } from '../watch/testing.ts'
import { discoverer } from './discoverer.ts'

beforeEach(async () => {
  vi.stubEnv('REGENT_HOME', await temporaryFolder())
  return () => void vi.unstubAllEnvs()
})

/** A host by its name, or as what was found has that. */
type Named = string | { readonly host: string; readonly alsoKnownAs: readonly string[] }

/** A folder in which `shop` is adopted, and a search whose ends the test chooses. */
async function watching(search?: typeof discover) {
  const folder = adoptedFolder()
  await prepareFolder(folder)
  const mysql = { user: 'regent', passwordFile: await fileWith('x') }
  const adoptionOf = (cluster: string, hosts: readonly Named[]): Adoption =>
    checkAdoption('it', { version: 1, cluster, hosts, mysql })
  await keepAdoption(folder, adoptionOf('shop', ['10.0.0.1']))
  let adopted: readonly Adoption[] = await allAdopted(folder)
  const clusters = {
    get list() {
      return adopted.map((adoption) => ({ adoption, lookNow: async () => undefined, looks }))
    },
    async follow() {
      adopted = (await allAdopted(folder)).filter(({ cluster }) => !managed.includes(cluster))
    },
  }
  const managed: string[] = []
  const looks = looksOf({ looks: [{}, {}] })
  const searches: ((hosts: readonly Named[]) => void)[] = []
  const searched: typeof discover = async (_, { cluster }) => {
    const { promise, resolve } = Promise.withResolvers<readonly Named[]>()
    searches.push(resolve)
    return adoptionOf(cluster, await promise)
  }
  const find = discoverer(folder, clusters, search ?? searched)
  const kept = async () =>
    Object.fromEntries((await allAdopted(folder)).map(({ cluster, hosts }) => [cluster, hosts.map(({ host }) => host)]))
  return { folder, find, kept, searches, adoptionOf, managed }
}

async function manage(name: string): Promise<void> {
  const dir = join(stateHome(), name)
  await mkdir(dir)
  await writeCluster(dir, { ...clusterIn(dir, { name }), far: true })
}

describe('Two discoveries at once', () => {
  it('adopt the servers of one tree once', async () => {
    const { find, kept, searches } = await watching()
    const both = [find('db1.example', 3306), find('db2.example', 3306)]
    for (const end of searches) end(['db1.example', 'db2.example'])
    await Promise.all(both)
    expect(await kept()).toEqual({ shop: ['10.0.0.1'], db1: ['db1.example', 'db2.example'] })
  })

  it('both add to a cluster that is known', async () => {
    const { find, kept, searches } = await watching()
    const both = [find('10.0.0.2', 3306), find('10.0.0.3', 3306)]
    for (const [at, end] of searches.entries()) end(['10.0.0.1', `10.0.0.${at + 2}`])
    await Promise.all(both)
    expect(await kept()).toEqual({ shop: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] })
  })
})

describe('A cluster that changed during the search', () => {
  it('is not written back where it was removed', async () => {
    const { folder, find, kept, searches, adoptionOf } = await watching()
    const going = find('10.0.0.2', 3306)
    await keepAdoption(folder, adoptionOf('bank', ['10.9.0.1']))
    await forgetAdoption(folder, 'shop')
    for (const end of searches) end(['10.9.0.1', '10.0.0.2'])
    await going
    expect(await kept()).toEqual({ bank: ['10.9.0.1', '10.0.0.2'] })
  })

  it('keeps what a person wrote meanwhile', async () => {
    const { folder, find, kept, searches, adoptionOf } = await watching()
    const going = find('10.0.0.2', 3306)
    await keepAdoption(folder, adoptionOf('shop', ['10.0.0.1', '10.0.0.9']))
    for (const end of searches) end(['10.0.0.1', '10.0.0.2'])
    await going
    expect(await kept()).toEqual({ shop: ['10.0.0.1', '10.0.0.9', '10.0.0.2'] })
  })
})

describe('What is found', () => {
  it('takes no name of a cluster that nobody watches just now', async () => {
    const { folder, find, kept, searches, adoptionOf, managed } = await watching()
    await keepAdoption(folder, adoptionOf('db1', ['10.7.0.1']))
    managed.push('db1')
    const going = find('db1.example', 3306)
    for (const end of searches) end(['db1.example'])
    await going
    expect(await kept()).toEqual({ shop: ['10.0.0.1'], db1: ['10.7.0.1'], db12: ['db1.example'] })
  })

  it('is not watched where it is managed', async () => {
    const { folder, find, kept, searches, adoptionOf, managed } = await watching()
    await keepAdoption(folder, adoptionOf('bank', ['10.9.0.1']))
    await manage('bank')
    managed.push('bank')
    const going = find('10.9.0.2', 3306)
    for (const end of searches) end(['10.9.0.1', '10.9.0.2'])
    await expect(going).rejects.toThrow('10.9.0.1:3306 is a server of bank, which is managed')
    expect(await kept()).toEqual({ bank: ['10.9.0.1'], shop: ['10.0.0.1'] })
  })

  it('changes no file where all of it is known', async () => {
    const { folder, find, searches } = await watching()
    const before = await adoptedFiles(folder)
    const going = find('10.0.0.1', 3306)
    for (const end of searches) end(['10.0.0.1'])
    await going
    expect(await adoptedFiles(folder)).toEqual(before)
  })

  it('is told by the address that is known, whatever name led there', async () => {
    const { find, searches } = await watching()
    const going = find('db.prod.svc', 3306)
    for (const end of searches)
      end([
        { host: 'db.prod.svc', alsoKnownAs: ['10.0.0.1'] },
        { host: '10.0.0.2', alsoKnownAs: [] },
      ])
    expect(await going).toEqual({ host: '10.0.0.1', port: 3306 })
    const next = find('10.0.0.9', 3306)
    for (const end of searches) end(['10.0.0.9', '10.0.0.1'])
    expect(await next).toEqual({ host: '10.0.0.9', port: 3306 })
  })

  it('is told apart by what servers are, whatever they are called', async () => {
    const asked: unknown[] = []
    const [first, second] = looksOf({ looks: [{}, {}] })
    const { find, adoptionOf } = await watching(async (_, { cluster, knownAt }) => {
      asked.push(...[first, second].map((look) => look?.server && knownAt?.({ ...look.server, executed: '' })?.host))
      asked.push(first?.server && knownAt?.({ ...first.server, dataDir: '/other' }))
      return adoptionOf(cluster, ['10.0.0.1'])
    })
    await find('db.prod.svc', 3306)
    expect(asked).toEqual([first?.host.host, second?.host.host, undefined])
  })

  it.each([
    ['unresolved', 'db9:3306 cannot be looked at: it fails; no such host'],
    ['silent', 'db9:3306 cannot be looked at: it fails; i/o timeout'],
    ['refused', 'db9:3306 cannot be looked at: it fails'],
    ['lockedOut', 'db9:3306 cannot be looked at: it fails'],
  ] as const)('is refused in words of orchestrator’s driver where a server is %s', async (reach, words) => {
    const failing = async () => {
      throw new RegentError('REGENT_REFUSED', say`it fails (--from)`, { cause: new LookFailure(reach, say`it fails`) })
    }
    await expect((await watching(failing)).find('db9', 3306)).rejects.toThrow(new RegExp(`^${words}$`))
  })

  it('leaves a server to the cluster that has it', async () => {
    const { folder, find, kept, searches, adoptionOf } = await watching()
    await keepAdoption(folder, adoptionOf('bank', ['10.9.0.1']))
    const going = find('10.0.0.2', 3306)
    for (const end of searches) end(['10.0.0.1', '10.9.0.1', '10.0.0.2'])
    await going
    expect(
      Object.values(await kept())
        .flat()
        .toSorted(),
    ).toEqual(['10.0.0.1', '10.0.0.2', '10.9.0.1'])
  })
})
