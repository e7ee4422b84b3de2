import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { fileStore } from './file.ts'
import { memoryStore } from './memory.ts'
import { redisStore } from './redis.ts'
import type { LeadingStore } from './store.ts'

export interface OpenStoreOptions {
  /** Accept a store that could lose what it confirmed: a Redis with unsafe settings. */
  readonly allowVolatile?: boolean
  /**
   * The scope in a Redis: managers compete for leadership only with those of the same scope: on one machine a cluster
   * has managers of its own.
   */
  readonly leadershipScope?: string
}

/** The forms of `--store`, for help and errors. */
const storeForms =
  'file:/path (or the path alone), redis://[user:password@]host[:port][/database], rediss:// for TLS, memory:'

/**
 * Opens the store that `--store` names.
 * @param url one of `storeForms`
 * @throws RegentError `REGENT_BAD_REQUEST` for another form, and what the store itself rejects with
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<LeadingStore> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase()
  switch (scheme) {
    case undefined:
    case 'file':
      return fileStore(folderIn(url))
    case 'redis':
    case 'rediss':
      return redisStore(url, options)
    case 'memory':
      return memoryStore()
    default:
      throw new RegentError(
        'REGENT_BAD_REQUEST',
        say`A store cannot begin with "${scheme}:"; it must be one of ${storeForms}.`,
      )
  }
}

function folderIn(url: string): string {
  const folder = url.replace(/^file:(\/\/(?=\/))?/i, '')
  if (folder === '' || folder.includes('\0') || /^\/\/[^/]/.test(folder)) {
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`The store ${JSON.stringify(url.slice(0, 80))} names no folder; write file:/path or the path alone.`,
    )
  }
  return folder
}
