import { execFile } from 'node:child_process'
import { access, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '#local/files/cache-folder.ts'

const run = promisify(execFile)
/** A package that is fetched, or a program that is compiled, on a busy machine. */
const longMs = 300_000

/** Command of a program, ready to run. */
export type Prepared = readonly string[]

/** Python with the packages of that name; `imports` shows that they are there. Rejects where they cannot be had. */
export async function pythonWith(packages: readonly string[], imports: string, file: string): Promise<Prepared> {
  const to = join(await drivers('python'), packages.join('-').replaceAll(/[^\w.-]/g, ''))
  const has = await run('python3', ['-c', `import ${imports}`], { env: { ...process.env, PYTHONPATH: to } }).then(
    () => true,
    () => false,
  )
  if (!has) await must('python3', ['-m', 'pip', 'install', '-q', '--target', to, ...packages])
  return ['env', `PYTHONPATH=${to}`, 'python3', file]
}

/** Builds the Go program in `folder`, with its packages. */
export async function goProgram(folder: string, packages: readonly string[]): Promise<Prepared> {
  await must('go', ['mod', 'init', 'client'], folder)
  for (const each of packages) await must('go', ['get', each], folder)
  await must('go', ['build', '-o', 'client', '.'], folder)
  return [join(folder, 'client')]
}

/** A Java program of one file, with Connector/J. */
export async function javaProgram(version: string, file: string): Promise<Prepared> {
  const to = await drivers('java')
  const jar = join(to, `mysql-connector-j-${version}.jar`)
  const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
  if (!(await isThere(jar)))
    await must(
      'mvn',
      ['-q', '-B', copy, `-Dartifact=com.mysql:mysql-connector-j:${version}`, `-DoutputDirectory=${to}`],
      to,
    )
  return ['java', '-cp', jar, file]
}

/** Debian's mysqlclient and its library, unpacked into the cache, with Debian's own Python. */
export async function debianMysqlclient(file: string): Promise<Prepared> {
  const to = join(await drivers('debian'), 'mysqlclient')
  const libraries = join(to, 'usr/lib/x86_64-linux-gnu')
  if (!(await isThere(libraries))) {
    await rm(to, { recursive: true, force: true })
    await mkdir(to, { recursive: true })
    await must('apt-get', ['download', 'python3-mysqldb', 'libmariadb3'], to)
    for (const name of await readdir(to)) await must('dpkg', ['-x', name, '.'], to)
  }
  const environment = [
    `PYTHONPATH=${join(to, 'usr/lib/python3/dist-packages')}`,
    `LD_LIBRARY_PATH=${libraries}`,
    `MARIADB_PLUGIN_DIR=${join(libraries, 'libmariadb3/plugin')}`,
  ]
  return ['env', ...environment, '/usr/bin/python3', file]
}

async function drivers(language: string): Promise<string> {
  const folder = join(cacheFolder(), 'client-drivers', language)
  await mkdir(folder, { recursive: true })
  return folder
}

async function must(program: string, args: readonly string[], cwd?: string): Promise<void> {
  await run(program, args, { timeout: longMs, ...(cwd === undefined ? {} : { cwd }) })
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
