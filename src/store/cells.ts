import type { Leadership } from './store.ts'

/** A text with a number that grows with every change of the text. */
export interface Cell {
  readonly revision: number
  readonly text: string
}

export type CellName = `record.${string}` | `notes.${string}` | `recoveries.${string}` | 'leader'

/**
 * What a place must be able to do to be a store: hold small texts and swap them atomically. Everything else about
 * records and notes is the same everywhere (`cell-store.ts`). A method that is given an aborted signal changes nothing
 * any more.
 */
export interface Cells {
  /** How errors name the place; never with a password. */
  readonly place: string
  /** How a person finds the object that holds a cell, and the command that removes it. */
  whereIs(name: CellName): { readonly object: string; readonly removal: string }
  /** The newest committed text, durable before it is returned. */
  read(name: CellName, signal: AbortSignal): Promise<Cell | undefined>
  /**
   * Replaces the text if its revision is still `expectedRevision` (0 = there is none); false when it is not. Durable
   * before it resolves.
   */
  swap(name: CellName, expectedRevision: number, next: Cell, signal: AbortSignal): Promise<boolean>
  /**
   * Removes the text, durably, whatever its revision; nothing where there is none. Resolves to false where an object of
   * somebody else has the name of the cell: the object stays.
   */
  remove(name: CellName, signal: AbortSignal): Promise<boolean>
  close(): Promise<void>
}

/** The lead of one manager, for a time. */
export interface Lease {
  lead(manager: string, ttlMs: number, signal: AbortSignal): Promise<Leadership | undefined>
  resign(manager: string, signal: AbortSignal): Promise<void>
}
