/** Where things stand in a binlog file and in the header of each event, in bytes. Numbers are little-endian. */
export const magic = Buffer.from('fe62696e', 'hex')
export const headerBytes = 19
export const checksumBytes = 4
export const typeOffset = 4
export const serverIdOffset = 5
export const lengthOffset = 9
export const endOffset = 13
export const flagsOffset = 17
/** The flag of a Format_description event that the server clears when it closes the file in order. */
export const inUseFlag = 1

/**
 * A Format_description event as of a file that was closed, in a buffer of its own: the server makes the checksum of the
 * event without the flag.
 */
export function asClosed(formatDescription: Buffer): Buffer {
  const closed = Buffer.from(formatDescription)
  closed.writeUInt16LE(closed.readUInt16LE(flagsOffset) & ~inUseFlag, flagsOffset)
  return closed
}
