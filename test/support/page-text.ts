import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

export const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8')

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
