import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { createMysqldProcess } from './process.ts'
import { anAgentConfig } from '../testing.ts'

let folder: string
let launcher: ChildProcess | undefined

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-process-'))
  for (const name of ['launcher', 'volume']) await mkdir(join(folder, name))
  launcher = spawn('sh', [join(import.meta.dirname, '../../src/kube/pods/launcher.sh'), join(folder, 'launcher')], {
    stdio: 'ignore',
  })
  await vi.waitUntil(async () => (await readdir(join(folder, 'launcher'))).includes('word'), { timeout: 10_000 })
})
afterEach(async () => {
  launcher?.kill('SIGKILL')
  // What the launcher started may write a moment longer.
  await rm(folder, { recursive: true, maxRetries: 20, retryDelay: 50 })
})

/** A mysqld of a container that only tells its version. */
async function processWith(version: string) {
  const program = join(folder, 'mysqld')
  await writeFile(program, `#!/bin/sh\necho asked >>${join(folder, 'asked')}\necho "${version}"\n`, { mode: 0o755 })
  return createMysqldProcess(
    anAgentConfig({ mysqld: [program], launcherDir: join(folder, 'launcher'), volume: join(folder, 'volume') }),
    realWorld,
  )
}

describe('the program of a mysql container', () => {
  it.each([
    [
      'too old',
      'mysqld  Ver 5.7.44 for Linux',
      'REGENT_MYSQL_TOO_OLD',
      / of the mysql container is MySQL 5\.7\.44, and Regent needs 8\.0\.26 or newer/,
    ],
    ['no MySQL', 'mysqld  Ver 10.11.6-MariaDB for debian-linux-gnu', 'REGENT_MYSQL_MISSING', /is not a MySQL server/],
  ])(
    'that is %s neither initialises a volume nor starts on one, and is asked once',
    async (_what, version, code, sentence) => {
      const process = await processWith(version)
      for (const act of [() => process.initialise(), () => process.start(), () => process.start()]) {
        await expect(act()).rejects.toMatchObject({ code, message: expect.stringMatching(sentence) as string })
      }
      expect(await readdir(join(folder, 'volume'))).toEqual([])
      expect(await readFile(join(folder, 'asked'), 'utf8')).toBe('asked\n')
      expect(process.state).toBe('absent')
    },
  )

  it('is asked for settings that it did not take before, once, and not started where it refuses them', async () => {
    const program = join(folder, 'mysqld')
    const script =
      'case "$*" in\n*--version*) echo "mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)" ;;\n*--validate-config*) echo asked >>"$0.asked"; grep -q bogus "${1#*=}" || exit 0; echo "2026 0 [ERROR] [MY-000067] [Server] unknown variable \'bogus=1\'."; echo "2026 0 [ERROR] [MY-010119] [Server] Aborting"; exit 1 ;;\n*) echo started >>"$0.asked"; exec sleep 60 ;;\nesac\n'
    await writeFile(program, `#!/bin/sh\n${script}`, { mode: 0o755 })
    const agent = (serverSettings: Readonly<Record<string, string>>) =>
      createMysqldProcess(
        anAgentConfig({
          mysqld: [program],
          launcherDir: join(folder, 'launcher'),
          volume: join(folder, 'volume'),
          serverSettings,
          allowUnclassified: ['bogus'],
        }),
        realWorld,
      )
    const words = "unknown variable 'bogus=1'"
    const refusing = agent({ bogus: '1' })
    for (const act of [() => refusing.initialise(), () => refusing.start(), () => refusing.start()]) {
      await expect(act()).rejects.toMatchObject({
        code: 'REGENT_SETTINGS_REFUSED',
        message: `mysqld is not started, since it refuses its settings: ${words}`,
      })
    }
    expect([refusing.state, refusing.settingsRefused]).toEqual(['absent', words])
    for (const settings of [{ long_query_time: '3' }, { long_query_time: '3' }, { long_query_time: '4' }]) {
      const taking = agent(settings)
      const before = (await readFile(`${program}.asked`, 'utf8')).split('started').length
      await taking.start()
      await vi.waitUntil(async () => (await readFile(`${program}.asked`, 'utf8')).split('started').length > before, {
        timeout: 10_000,
      })
      await taking.kill()
    }
    expect((await readFile(`${program}.asked`, 'utf8')).split('\n').filter((line) => line !== '')).toEqual([
      'asked',
      'asked',
      'started',
      'started',
      'asked',
      'started',
    ])
  })

  it.each([
    ['by a failed assertion of its own failed to start', 'ABRT', 1],
    ['by somebody who killed the program says nothing of its start', 'KILL', 0],
  ])('that is ended %s', async (_what, signal, startsFailed) => {
    const process = await processWith(
      `mysqld  Ver 9.7.4 for Linux"; case "$*" in *--version*|*--validate*) exit 0 ;; esac; kill -${signal} $$; echo "`,
    )
    await process.start()
    await vi.waitFor(() => expect(String(process.note)).toMatch(/was ended by SIG\w+ before it was up/), {
      timeout: 10_000,
    })
    expect(process.startsFailed).toBe(startsFailed)
  })

  it('is asked again where no launcher could say', async () => {
    const process = await processWith('mysqld  Ver 5.7.44 for Linux')
    launcher?.kill('SIGKILL')
    await vi.waitUntil(() => launcher?.signalCode === 'SIGKILL')
    for (let time = 0; time < 2; time++)
      await expect(process.start()).rejects.toMatchObject({ code: 'REGENT_LAUNCHER_SILENT' })
  })
})
