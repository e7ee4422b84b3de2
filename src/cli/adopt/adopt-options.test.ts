import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { stringify } from 'yaml'
import {
  adoptedFiles,
  adoptedFolder,
  keepAdoption,
  keepPassword,
  prepareFolder,
  writeManager,
} from '#adopt/adopted-folder.ts'
import { anAdoption, judged, looksOf } from '#adopt/watch/testing.ts'
import { readProcessStat } from '#common/process/process-stat.ts'
import { regent } from '../testing.ts'
import type { Io } from '../terminal/io.ts'
import { adopt } from './adopt.ts'
import { interfaceSaid, keepInterface } from './interface.ts'

const check = async () => ({ looks: looksOf({}), judgement: judged({}), refusals: [] })
const port = 9_510

beforeEach(async () => {
  vi.stubEnv('REGENT_HOME', await mkdtemp(join(tmpdir(), 'regent-adopt-')))
  onTestFinished(async () => {
    await rm(process.env['REGENT_HOME'] ?? '', { recursive: true })
    vi.unstubAllEnvs()
  })
  await prepareFolder(adoptedFolder())
})

function silent(out: string[] = []): Io {
  return {
    ...{ env: {}, colour: false, terminal: false, interrupted: () => AbortSignal.timeout(60_000) },
    out: (line) => void out.push(line),
    note: () => undefined,
  }
}

describe('A verb of adopt', () => {
  test.each([
    ['remove shop --check', '--check'],
    ['remove shop --port 9511', '--port'],
    ['list --from 10.0.0.1', '--from'],
    ['watch shop --check', '--check'],
    ['watch shop -o json', '--output'],
    ['manage shop -o json', '--output'],
    ['manage shop --orchestrator-listen :3000', '--orchestrator-listen'],
  ])('refuses in "%s" what only adopt itself heeds, and does nothing', async (words, flag) => {
    await keepAdoption(adoptedFolder(), anAdoption())
    const { code, out, err } = await regent(['adopt', ...words.split(' ')])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(flag)
    expect([...(await adoptedFiles(adoptedFolder())).keys()]).toHaveLength(1)
  })

  test('starts the manager, or finds it, and says so as JSON where that is asked for', async () => {
    await keepAdoption(adoptedFolder(), anAdoption())
    await running()
    const { code, out } = await regent(['adopt', 'start', '-o', 'json'])
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ host: '127.0.0.1', port })])
    const printed: string[] = []
    const served = { version: 1, host: '::1', port: 1, hostNames: 'name', readOnly: false } as const
    await keepInterface(silent(printed), await interfaceSaid({ output: 'json' }, served), { output: 'json' })
    expect(printed).toEqual([])
  })
})

describe('A cluster is not adopted by a command that is refused', () => {
  test.each([
    [{ orchestratorHosts: 'name' }, '--orchestrator-listen'],
    [{ port: 9_511 }, 'leave --port out'],
  ] as const)('for %j', async (options, said) => {
    await running()
    const file = join(process.env['REGENT_HOME'] ?? '', 'shop.yaml')
    await writeFile(file, stringify(anAdoption()))
    await expect(adopt(silent(), file, { output: 'text', ...options }, { check })).rejects.toThrow(said)
    expect([...(await adoptedFiles(adoptedFolder())).keys()]).toEqual([])
  })
})

test('A file of MHA that is refused leaves the password by which the cluster of that name is watched', async () => {
  const folder = adoptedFolder()
  const watched = await keepPassword(folder, 'shop.mysql', 'right')
  const file = join(process.env['REGENT_HOME'] ?? '', 'shop.cnf')
  const refusing = async () => ({ ...(await check()), refusals: ['the password is wrong'] })
  await writeFile(file, '[server default]\nuser=mha\npassword=wrong\nrepl_user=repl\n[server1]\nhostname=10.0.0.1\n')
  const going = adopt(silent(), undefined, { output: 'text', mha: file }, { check: refusing })
  await expect(going).rejects.toThrow('the password is wrong')
  expect(await readFile(watched, 'utf8')).toBe('right\n')
  expect(await readdir(folder.secrets)).toEqual(['api-token', 'shop.mysql'])
})

/** This process says that it is the manager that watches. */
async function running(): Promise<void> {
  const { pid } = process
  const startTicks = readProcessStat(pid)?.startTicks ?? 0
  await writeManager(adoptedFolder(), { version: 1, host: '127.0.0.1', port, pid, startTicks })
}
