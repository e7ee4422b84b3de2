import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findUnpacked, unpackBundle, type DebianBundle, type UnpackedTree } from '#local/packages/debian-packages.ts'
import { freePort } from '../support/free-port.ts'
import { openSession, type Login } from '../support/sql-session.ts'

const bundle: DebianBundle = {
  name: 'mysql-router',
  title: 'MySQL Router',
  packages: ['mysql-router'],
  byHand: 'Measure without --mysql-router.',
}
const [deadlineMs, againMs] = [30_000, 100]

/** A MySQL Router with a fixed destination: it finds a primary by metadata alone, which Regent's clusters have not. */
export interface MysqlRouter {
  readonly login: Login
  readonly pid: number
  stop(): Promise<void>
}

/** Unpacks MySQL Router where it is not there yet. Rejects where it cannot be had, or lets no client through. */
export async function startMysqlRouter(to: Login, told: (line: string) => void): Promise<MysqlRouter> {
  const tree = (await findUnpacked(bundle)) ?? (await unpackBundle(bundle, told))
  const folder = await mkdtemp(join(tmpdir(), 'regent-mysql-router-'))
  const login = { ...to, host: '127.0.0.1', port: await freePort() }
  await writeFile(join(folder, 'router.conf'), configOf(tree, folder, { from: login, to }))
  const [program = '', ...words] = commandOf(tree)
  const router = spawn(program, [...words, '--config', join(folder, 'router.conf')], { stdio: 'ignore' })
  const ended = once(router, 'exit')
  const stop = async (): Promise<void> => {
    router.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await Promise.race([answers(login), ended.then(() => Promise.reject(new Error('MySQL Router ended at once')))])
  } catch (error) {
    await stop()
    throw error
  }
  return { login, pid: router.pid ?? NaN, stop }
}

/** By the loader and libraries of the tree; those of MySQL Router and of its plugins lie in folders of their own. */
function commandOf({ root, architecture }: UnpackedTree): readonly string[] {
  const libraries = join(root, 'usr/lib', architecture.triplet)
  const all = [libraries, join(root, 'usr/lib/mysql-router'), join(root, 'usr/lib/mysqlrouter/plugin')]
  return [join(libraries, architecture.loader), '--library-path', all.join(':'), join(root, 'usr/bin/mysqlrouter')]
}

interface Route {
  readonly from: Login
  readonly to: Login
}

/** No statement is read, and no session shared: what a client of Regent's router has. */
function configOf({ root }: UnpackedTree, folder: string, { from, to }: Route): string {
  const folders = ['logging_folder', 'runtime_folder', 'data_folder'].map((name) => `${name}=${folder}`)
  return [
    '[DEFAULT]',
    ...folders,
    `plugin_folder=${join(root, 'usr/lib/mysqlrouter/plugin')}`,
    '[routing:primary]',
    `bind_address=${from.host}`,
    `bind_port=${from.port}`,
    `destinations=${to.host}:${to.port}`,
    'routing_strategy=first-available',
    'protocol=classic',
    'client_ssl_mode=PASSTHROUGH',
    'server_ssl_mode=AS_CLIENT',
    'max_connections=5000',
    '',
  ].join('\n')
}

async function answers(login: Login): Promise<void> {
  for (let leftMs = deadlineMs; ; leftMs -= againMs)
    try {
      return (await openSession(login, deadlineMs)).destroy()
    } catch (error) {
      if (leftMs <= 0) throw error
      await sleep(againMs)
    }
}
