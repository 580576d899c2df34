import type { ReactNode } from "react";

export interface ButtonProps {
	children: ReactNode;
	disabled?: boolean;
	onClick(): void;
}

export function Button({ children, disabled = false, onClick }: ButtonProps) {
	return (
		<button type="button" className="ferry-button" disabled={disabled} onClick={onClick}>
			{children}
		</button>
	);
}
