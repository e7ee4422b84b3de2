import { join } from 'node:path'

/**
 * Node for what idles most of the time, one per instance: a young generation of 1 MB instead of up to 48 (seen: an
 * agent took 97 MB instead of 134).
 */
export const frugalNode = ['--max-semi-space-size=1'] as const

/** How `regent` is run again from here: this very node, with main.ts beside this room. */
export function regentCommand(nodeOptions: readonly string[] = []): readonly string[] {
  return [process.execPath, ...nodeOptions, join(import.meta.dirname, '..', 'main.ts')]
}
