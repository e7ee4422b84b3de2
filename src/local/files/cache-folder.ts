import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * Where unpacked servers are kept between runs: `REGENT_CACHE`, else `$XDG_CACHE_HOME/regent`, else `~/.cache/regent`.
 */
export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (env['REGENT_CACHE']) return resolve(env['REGENT_CACHE'])
  // The XDG specification says to ignore a relative path.
  if (env['XDG_CACHE_HOME']?.startsWith('/')) return join(env['XDG_CACHE_HOME'], 'regent')
  return join(homedir(), '.cache', 'regent')
}
