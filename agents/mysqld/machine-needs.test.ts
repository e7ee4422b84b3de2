import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { lacksAioSlots, machineLacks, writePidFileAgain } from './machine-needs.ts'

/** A machine on which nothing is short, as /proc and the files of an instance show it. */
async function machine() {
  const folder = await mkdtemp(join(tmpdir(), 'regent-machine-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const proc = join(folder, 'proc')
  await mkdir(join(proc, '7', 'fd'), { recursive: true })
  await mkdir(join(proc, 'sys', 'fs'), { recursive: true })
  const at = (name: string) => join(folder, name)
  const [serverPidFile, socket, accountSecretFile, program] = [at('pid'), at('socket'), at('secret'), at('mysqld')]
  for (const path of [serverPidFile, socket, accountSecretFile]) await writeFile(path, '')
  await writeFile(program, '', { mode: 0o755 })
  const limit = (most: number | string) =>
    writeFile(join(proc, '7', 'limits'), `Max open files            ${most}   9\n`)
  const slots = async (most: number, now: number) => {
    await writeFile(join(proc, 'sys', 'fs', 'aio-max-nr'), `${most}\n`)
    await writeFile(join(proc, 'sys', 'fs', 'aio-nr'), `${now}\n`)
  }
  await limit(1_000)
  await slots(65_536, 20_000)
  return { needs: { pid: 7, serverPidFile, socket, accountSecretFile, program: [program], proc }, proc, limit, slots }
}

it('Where nothing is short at the machine, nothing is lacking; what cannot be read is not judged', async () => {
  const { needs, proc, limit } = await machine()
  expect(await machineLacks(needs)).toEqual([])
  await limit('unlimited')
  expect(await machineLacks(needs)).toEqual([])
  await rm(proc, { recursive: true })
  expect(await machineLacks(needs)).toEqual([])
  expect(await lacksAioSlots(proc)).toBe(false)
})

it('File descriptors, slots and files that are short or gone are named, with what rests upon them', async () => {
  const { needs, proc, limit, slots } = await machine()
  await limit(99)
  await slots(65_536, 65_000)
  for (const path of [needs.serverPidFile, needs.socket, needs.accountSecretFile, needs.program[0]!]) await rm(path)
  expect((await machineLacks(needs)).map(({ what }) => what)).toEqual([
    'file descriptors (mysqld has 99 left)',
    'slots of asynchronous I/O (the machine has 536 left)',
    `file ${needs.serverPidFile}`,
    `socket ${needs.socket}`,
    `file ${needs.accountSecretFile}`,
    `program ${needs.program[0]}`,
  ])
  expect(await lacksAioSlots(proc)).toBe(true)
})

it('A pid file that is gone is written again, and one that is there is left alone', async () => {
  const { needs } = await machine()
  await writeFile(needs.serverPidFile, '8\n')
  await writePidFileAgain(needs)
  expect(await readFile(needs.serverPidFile, 'utf8')).toBe('8\n')
  await rm(needs.serverPidFile)
  await writePidFileAgain(needs)
  expect(await readFile(needs.serverPidFile, 'utf8')).toBe('7\n')
})
