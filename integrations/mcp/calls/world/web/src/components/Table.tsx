import { useMemo, useState } from "react";

export interface Column<Row> {
	title: string;
	value(row: Row): string;
}

export interface TableProps<Row> {
	columns: Column<Row>[];
	rows: Row[];
}

export function Table<Row>({ columns, rows }: TableProps<Row>) {
	const [sortBy, setSortBy] = useState(0);
	const sorted = useMemo(() => sortRows(rows, columns[sortBy]), [rows, columns, sortBy]);
	return (
		<table>
			<thead>
				<tr>
					{columns.map((column, at) => (
						<th key={column.title} onClick={() => setSortBy(at)}>
							{column.title}
						</th>
					))}
				</tr>
			</thead>
			<tbody>
				{sorted.map((row, at) => (
					<tr key={at}>
						{columns.map((column) => (
							<td key={column.title}>{column.value(row)}</td>
						))}
					</tr>
				))}
			</tbody>
		</table>
	);
}

export function sortRows<Row>(rows: Row[], column: Column<Row>): Row[] {
	return [...rows].sort((a, b) => column.value(a).localeCompare(column.value(b)));
}
