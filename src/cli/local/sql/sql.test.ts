import { expect, it } from 'vitest'
import { openStatements } from './sql.ts'

it.each(['/dev/full', '/dev/zero'])(
  '%s is no file of statements: the client would read it without end',
  async (device) => {
    await expect(openStatements(device)).rejects.toMatchObject({
      code: 'REGENT_BAD_FILE',
      message: `the file given with --file, ${device}, is a device, not a file`,
    })
  },
)

it('A file of statements is opened, a folder or what is not there is refused', async () => {
  for (const file of [import.meta.filename, '/dev/null']) await (await openStatements(file)).close()
  await expect(openStatements(import.meta.dirname)).rejects.toThrow('is a folder, not a file')
  await expect(openStatements('/nonexistent/file')).rejects.toThrow('cannot be opened: ENOENT')
})
