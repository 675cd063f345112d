import standard, { Item, shadow, typed, wait, steps, table, each, $dollar, größe } from './cart';

class Special extends Item<{}> {
  sum(): number {
    const base = super.sum();
    return base + 1;
  }
}

const runs: [string, () => unknown][] = [
  ['constructor', () => new Item(9)],
  ['getter', () => new Item(1).price],
  ['setter', () => (new Item(1).price = 2)],
  ['static', () => Item.of(3)],
  ['field', () => new Item(1).sum()],
  ['inherited', () => new Special(1).sum()],
  ['shadow', () => shadow(4)],
  ['typed', () => typed(5)],
  ['wait', () => wait(6)],
  ['steps', () => [...steps(7)]],
  ['method', () => table.method(1)],
  ['arrow', () => table.arrow(1)],
  ['plain', () => table.plain(1)],
  ['value', () => table.value],
  ['default', () => standard(1)],
  ['each', () => each([1])],
  ['dollar', () => $dollar('`')],
  ['unicode', () => größe(1)],
];

async function main(): Promise<void> {
  for (const [name, run] of runs) {
    try {
      await run();
      console.log('### ' + name + '\nno error');
    } catch (e) {
      console.log('### ' + name + '\n' + (e as Error).stack);
    }
  }
}
main();
