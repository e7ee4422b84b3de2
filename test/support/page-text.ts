import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

/** At once: on a machine with much to do each file that is waited for takes its time, and the tree has thousands. */
export const read = async (file: string): Promise<string> => readFileSync(join(root, file), 'utf8')

/** A page without its blocks of code. */
export const withoutCode = (page: string): string => page.replace(/^```[^]*?^```/gm, '')

export const proseOf = async (page: string): Promise<string> => withoutCode(await read(page))

/** The cells of each table of a page, row by row; the first row of each is its head. */
export function tablesOf(prose: string): readonly (readonly (readonly string[])[])[] {
  return [...prose.matchAll(/(?:^\|.*\|\n?)+/gm)].map(([table]) =>
    table
      .trim()
      .split('\n')
      .filter((row) => !/^\|[\s|:-]+\|$/.test(row))
      .map((row) =>
        row
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
  )
}

/** What a text has in backticks. */
export function quotedIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, words = '']) => words)
}
