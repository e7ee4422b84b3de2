import { isAbsolute } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { runCommand } from '#common/process/run-command.ts'
import { findUnpacked, programOf, unpackBundle, type DebianBundle, type Say } from './debian-packages.ts'
import { firstExecutable, onPath } from './executables.ts'

const bundle: DebianBundle = {
  name: 'haproxy',
  title: 'HAProxy',
  packages: ['haproxy'],
  byHand: 'Install HAProxy ≥ 2.6 with Lua, and put its haproxy on PATH or its path into REGENT_HAPROXY.',
}

/**
 * Finds an HAProxy, as an argument vector: `REGENT_HAPROXY` (a path; what it names is used or refused), else `haproxy`
 * on PATH, else the Debian packages in the cache, which are unpacked first where they are not there yet. Rejects with
 * REGENT_HAPROXY_MISSING or REGENT_SETUP_FAILED.
 */
export async function findHaproxy(tell: Say = () => undefined): Promise<readonly string[]> {
  const named = process.env['REGENT_HAPROXY']
  if (named) return namedHaproxy(named)
  const path = await onPath('haproxy')
  if (path !== undefined) {
    const complaint = await complaintAbout([path])
    if (complaint === '') return [path]
    tell(`HAProxy: passing over the one on PATH: ${complaint}`)
  }
  const tree = (await findUnpacked(bundle)) ?? (await unpackBundle(bundle, tell))
  return usable(
    programOf(tree, 'usr/sbin/haproxy'),
    say`HAProxy in ${tree.root} (remove that folder to have it unpacked again)`,
  )
}

/** The same without the packages, for an image that must bring HAProxy. */
export async function haproxyOnPath(): Promise<readonly string[]> {
  const path = process.env['REGENT_HAPROXY'] || (await onPath('haproxy'))
  if (path === undefined)
    throw new RegentError(
      'REGENT_HAPROXY_MISSING',
      say`There is no haproxy on PATH: the image of a router must have HAProxy ≥ 2.6 with Lua, as Regent’s own has.`,
    )
  return usable([path], path)
}

async function namedHaproxy(path: string): Promise<readonly string[]> {
  if (!isAbsolute(path) || (await firstExecutable([path])) === undefined)
    throw new RegentError(
      'REGENT_HAPROXY_MISSING',
      say`REGENT_HAPROXY is "${path}", but must be the absolute path of an executable haproxy.`,
    )
  return usable([path], say`REGENT_HAPROXY=${path}`)
}

async function usable(argv: readonly string[], where: Sayable): Promise<readonly string[]> {
  const complaint = await complaintAbout(argv)
  if (complaint !== '') throw new RegentError('REGENT_HAPROXY_MISSING', say`${where}: ${reported(complaint)}`)
  return argv
}

/** '' for one that the router can use. */
async function complaintAbout(argv: readonly string[]): Promise<string> {
  const result = await runCommand([...argv, '-vv'], { deadlineMs: 30_000 })
  if (!result.ok) return `it does not run: ${result.failure}`
  const [, major = '0', minor = '0'] = /^HAProxy version (\d+)\.(\d+)/m.exec(result.stdout) ?? []
  if (Number(major) * 100 + Number(minor) < 206) return 'it is older than 2.6'
  return /\+LUA\b/.test(result.stdout) ? '' : 'it was built without Lua'
}
