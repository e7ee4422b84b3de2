import { say } from '#common/sentence/sentence.ts'
import { constants } from 'node:fs'
import { access, readdir, readFile, writeFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import type { Lack } from '#topology/snapshot/observation.ts'
import { agentPutsRight } from '../ports/server.ts'

/** A promotion opens relay logs, a binlog and tables anew; replicas and clients come with a socket each. */
const fewDescriptors = 100
/** More than InnoDB asks for at a start with its default threads (256 for each). */
const fewAioSlots = 4_096

export interface MachineNeeds {
  /** The pid of the mysqld that runs. */
  readonly pid: number
  readonly serverPidFile: string
  readonly socket: string
  readonly accountSecretFile: string
  /** What is run here to start mysqld; empty where a launcher starts it elsewhere. */
  readonly program: readonly string[]
  /** `/proc`, but in tests. */
  readonly proc?: string
}

/**
 * What a promotion, or the next start of mysqld or its agent, rests upon at the machine, and is short or gone. What
 * cannot be read is not judged. The pid file alone is put right here (`writePidFileAgain`); the rest a person, or the
 * next start.
 */
export async function machineLacks(needs: MachineNeeds): Promise<readonly Lack[]> {
  const { serverPidFile, socket, accountSecretFile, program, proc = '/proc' } = needs
  const [descriptors, slots] = await Promise.all([freeDescriptors(needs.pid, proc), freeAioSlots(proc)])
  const missing = async (path: string, mode: number): Promise<boolean> => access(path, mode).then(() => false, isGone)
  const lacks: readonly (readonly [boolean, Lack])[] = [
    [
      descriptors < fewDescriptors,
      {
        what: say`file descriptors (mysqld has ${descriptors} left)`,
        for: say`a promotion, and connections of replicas`,
        cure: say`raise open_files_limit, or LimitNOFILE of what starts mysqld`,
      },
    ],
    [
      slots < fewAioSlots,
      {
        what: say`slots of asynchronous I/O (the machine has ${slots} left)`,
        for: say`the next start of its mysqld`,
        cure: say`that start goes without; raise fs.aio-max-nr (sysctl)`,
      },
    ],
    [
      await missing(serverPidFile, constants.F_OK),
      { what: say`file ${serverPidFile}`, for: say`the next start of its agent`, cure: agentPutsRight },
    ],
    [
      await missing(socket, constants.F_OK),
      {
        what: say`socket ${socket}`,
        for: say`the agent, and commands of this machine`,
        cure: say`the agent comes by the administrative interface; the next start of its mysqld makes the socket again`,
      },
    ],
    [
      await missing(accountSecretFile, constants.R_OK),
      {
        what: say`file ${accountSecretFile}`,
        for: say`the next start of its agent`,
        cure: say`put it back: all passwords are derived from it`,
      },
    ],
    [
      program.length === 1 && isAbsolute(program[0] ?? '') && (await missing(program[0] ?? '', constants.X_OK)),
      { what: say`program ${program[0] ?? ''}`, for: say`the next start of its mysqld`, cure: say`install it again` },
    ],
  ]
  return lacks.filter(([isLacking]) => isLacking).map(([, lack]) => lack)
}

/** mysqld wrote it when its interfaces were open; an agent that starts takes mysqld for one that starts without it. */
export async function writePidFileAgain({ pid, serverPidFile }: MachineNeeds): Promise<void> {
  await writeFile(serverPidFile, `${pid}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/** Whether InnoDB would find too few, and not start (`io_setup` gives EAGAIN, and mysqld ends after five attempts). */
export async function lacksAioSlots(proc = '/proc'): Promise<boolean> {
  return (await freeAioSlots(proc)) < fewAioSlots
}

async function freeAioSlots(proc: string): Promise<number> {
  const [most, now] = await Promise.all(['aio-max-nr', 'aio-nr'].map((name) => numberIn(`${proc}/sys/fs/${name}`)))
  return most === undefined || now === undefined ? Number.POSITIVE_INFINITY : most - now
}

async function freeDescriptors(pid: number, proc: string): Promise<number> {
  const limits = await readFile(`${proc}/${pid}/limits`, 'utf8').catch(() => '')
  const most = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  const open = await readdir(`${proc}/${pid}/fd`).catch(() => [])
  return most - open.length
}

async function numberIn(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.trim() === '' ? undefined : Number(text)
}

function isGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOENT' || error.code === 'EACCES'
}
