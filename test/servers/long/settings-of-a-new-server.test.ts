import { expect, it } from 'vitest'
import { BareInstance } from '#test/support/bare-instance.ts'
import { firstValue } from '#test/support/sql-session.ts'

it('A new server has the size of pages, and the case of names, that its settings say', async () => {
  const settings = { innodb_page_size: '4k', lower_case_table_names: '1' }
  const other = await BareInstance.create('bare-0', settings)
  try {
    await other.process.initialise()
    await other.start()
    const seen = await firstValue(
      await other.session('regent'),
      "select concat_ws(' ', @@innodb_page_size, @@lower_case_table_names)",
    )
    expect(seen).toBe('4096 1')
  } finally {
    await other.remove()
  }
})
