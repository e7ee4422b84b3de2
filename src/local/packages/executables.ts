import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'

/** The first executable file of this name on PATH, or undefined. Relative entries of PATH are not believed. */
export async function onPath(name: string, path: string = process.env['PATH'] ?? ''): Promise<string | undefined> {
  return firstExecutable(
    path
      .split(delimiter)
      .filter(isAbsolute)
      .map((folder) => join(folder, name)),
  )
}

/** The first of these files that exists and may be executed, or undefined. */
export async function firstExecutable(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const usable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return file
  }
  return undefined
}
