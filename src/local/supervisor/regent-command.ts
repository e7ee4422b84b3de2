import { join } from 'node:path'

/** How `regent` is run again from here: this very node, with main.ts beside this room. */
export function regentCommand(nodeOptions: readonly string[] = []): readonly string[] {
  return [process.execPath, ...nodeOptions, join(import.meta.dirname, '../..', 'main.ts')]
}
