import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BareInstance, until } from '#test/support/bare-instance.ts'

const script = join(import.meta.dirname, '../../../src/kube/pods/launcher.sh')
let folder: string
let launcher: ChildProcess
let instance: BareInstance

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-launcher-'))
  instance = await BareInstance.create('bare-0', {}, { launcherDir: folder })
})
afterAll(async () => {
  await instance.remove()
  launcher.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

it('While there is no launcher nothing is initialised, and it is said', async () => {
  await expect(instance.process.initialise()).rejects.toMatchObject({ code: 'REGENT_LAUNCHER_SILENT' })
  expect(await instance.process.isEmpty()).toBe(true)
})

it('A server that a launcher started is initialised, answers, is killed, and is started again by the same launcher', async () => {
  launcher = spawn('sh', [script, folder], { stdio: 'ignore' })
  await until(async () => (await readdir(folder)).includes('word'), 'the launcher listens')
  await instance.process.initialise()
  expect(await instance.process.isEmpty()).toBe(false)
  await instance.start()
  const { pid } = instance.process
  expect((await instance.server.readState()).superReadOnly).toBe(true)
  process.kill(pid ?? 0, 'SIGKILL')
  await until(
    () => instance.process.state === 'dead' && String(instance.process.note).includes('SIGKILL'),
    'it is seen how it ended',
  )
  expect(String(instance.process.note)).toBe(`mysqld ${pid} was ended by SIGKILL`)
  await instance.start()
  expect(instance.process.pid).not.toBe(pid)
  await instance.process.kill()
  await until(async () => (await readdir(folder)).toSorted().join() === 'beside,word', 'nothing is left behind')
})
